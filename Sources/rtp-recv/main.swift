import CommandLineTool
import Dispatch
import Glibc

// Before anything asynchronous, which opens descriptors.
CommandLineTool.openStandardDescriptors()
CommandLineTool().decodeIfAsked()
Task {
  await CommandLineTool().run()
  exit(EXIT_SUCCESS)
}
dispatchMain()
