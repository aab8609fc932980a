// Loops over frames use members that are declared in these modules.
@_exported public import Decode
@_exported public import Reception
@_exported public import Transports
