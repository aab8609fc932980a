// The command rtp-recv with another transport, payload format and outputs.
//
// Usage: tshark -r vp8.pcap -T fields -e udp.payload > vp8.hex
//        rtp-recv-extra vp8.hex --codec vp8 -o sums.fnv -o tally:sizes -o video.y4m
import CommandLineTool
import Defragment
import ExtraRooms
import Outputs
import Transports

var tool = CommandLineTool()
tool.transports = TransportCatalogue([.hexLines] + tool.transports.kinds)
tool.formats = FormatCatalogue(tool.formats.formats + [VP8PayloadFormat.self])
tool.outputs = OutputCatalogue(tool.outputs.formats + [ChecksumOutput.format, TallyOutput.format])
tool.decodeIfAsked()
await tool.run()
