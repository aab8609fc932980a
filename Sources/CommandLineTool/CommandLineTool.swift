import CLinux
import Decode
public import Defragment
import JetStream
public import Outputs
import Receiver
public import Transports

/// The command `rtp-recv`, put together from what there is to receive with and to write.
///
/// A program that adds a transport, a payload format or an output has the whole command with it:
///
/// ```swift
/// var tool = CommandLineTool()
/// tool.formats = FormatCatalogue(tool.formats.formats + [Mine.self])
/// tool.decodeIfAsked()
/// await tool.run()
/// ```
public struct CommandLineTool: Sendable {
  /// The transports that a SOURCE can name.
  public var transports = TransportCatalogue(TransportCatalogue.standard.kinds + [.jetStream])
  /// The payload formats that are known.
  public var formats = FormatCatalogue.standard
  /// The output formats that can be named.
  public var outputs = OutputCatalogue(OutputCatalogue.standard.formats + OutputFormat.jetStream)

  /// The tool that reads the command line of this process.
  @TaskLocal static var current = CommandLineTool()

  /// Runs the command's own tasks.
  static let tasks = TaskQueue(label: "rtp-recv.command")

  /// Makes the tool as this package brings it.
  public init() {}

  /// Opens standard input, output and error on `/dev/null` where they are closed.
  ///
  /// A program calls it first of all, outside of asynchronous code, so that nothing else gets their
  /// numbers.
  public static func openStandardDescriptors() { _ = StandardDescriptors.closed }

  /// Decodes for the process that started this one, if it was started for that, and does not return
  /// then.
  ///
  /// A program calls it before anything else that takes time. One that does not call it decodes in
  /// its own process, and warns of that at each start.
  public func decodeIfAsked() { DecoderService.runIfAsked(codecs: formats.codecs) }

  /// Reads the command line, runs to the end, and exits where that was no success.
  public func run() async {
    // Access units are freed as soon as they are written. glibc would give their memory back at
    // once, and the next ones would fault it in again, page by page.
    clinux_keep_freed_memory()
    FFmpegLibraries.silence()
    await withTaskExecutorPreference(Self.tasks) {
      await Self.$current.withValue(self) { await RTPRecv.main() }
    }
  }
}
