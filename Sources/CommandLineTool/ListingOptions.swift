import ArgumentParser

struct ListingOptions: ParsableArguments {
  @Flag(help: "List the streams, as text or as JSON, and play none.")
  var listing: StreamList.Form?
}
