import CommandLineTool
import Dispatch
import Glibc

// Before anything asynchronous, which opens descriptors.
CommandLineTool.openStandardDescriptors()
Task {
  await CommandLineTool().run()
  exit(EXIT_SUCCESS)
}
dispatchMain()
