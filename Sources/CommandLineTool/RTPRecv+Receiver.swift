import Defragment
import Outputs
import RTPWire
import Receiver
import Reception
import Transports

extension RTPRecv {
  /// What is asked of the receiver of `media` and of the `sound` beside it.
  ///
  /// `onlyRecords` says that nothing is made of the packets.
  func receiverConfiguration(
    media: MediaDescription, sound: MediaDescription?, outputs: [OutputRequest], onlyRecords: Bool
  ) -> Receiver.Configuration {
    var configuration = Receiver.Configuration()
    configuration.stream.media = media
    configuration.stream.sound = sound
    configuration.stream.formats = CommandLineTool.current.formats
    configuration.stream.reorderWindow = .milliseconds(self.media.reorderWindow)
    // A recording takes media of any codec.
    configuration.stream.doubtsCodec = !onlyRecords
    configuration.outputs = outputs
    configuration.scalesToFirst = self.outputs.scaleToFirst
    configuration.reportsSamples = self.outputs.frameHashes
    configuration.lossTreatment = loss.treatment
    configuration.constantRate = loss.constantRate
    configuration.decoderThreads = decoder.threads
    configuration.decoderBox = decoder.sandbox.box
    configuration.pacesOutputs = playout.pace
    configuration.frameLimit = stopping.frames
    configuration.duration = stopping.duration.map { .seconds($0) }
    if let silence = stopping.silence {
      configuration.firstMediaTimeout = silence
      configuration.silenceTimeout = silence
    }
    if stopping.reconnect { configuration.reconnection = Reconnection() }
    return configuration
  }
}
