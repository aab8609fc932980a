import CommandLineTool

await CommandLineTool().run()
