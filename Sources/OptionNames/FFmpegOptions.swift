/// Options of FFmpeg that are in people's fingers, and what to write instead.
///
/// ArgumentParser takes `-rtsp_transport tcp` for `-o tcp`, and says that of the name.
package struct FFmpegOptions: Sendable {
  private let advice: [String: String]

  /// Takes for each option what follows "is an option of FFmpeg; here".
  package init(_ advice: [String: String]) { self.advice = advice }

  /// What to say of the first of `arguments` that is one; `nil` if none is.
  package func complaint(aboutAnyOf arguments: [String]) -> String? {
    arguments.prefix { $0 != "--" }.lazy.compactMap { argument in
      advice[argument].map { "'\(argument)' is an option of FFmpeg; here \($0)" }
    }.first
  }
}
