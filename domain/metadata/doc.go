// Package metadata checks metadata deposits: one XML file with many records.
//
//	<records xmlns="https://example.org/records">
//	  <record>
//	    <identifier>tide-1923</identifier>
//	    <title>Tide gauge readings of 1923</title>
//	  </record>
//	</records>
//
// A [Format] names the root element of a file, which elements below it are records, and
// where in a record its identifier and its title are. Elements that it does not name are
// taken as they are.
//
// # The file
//
// The file is well-formed XML 1.0 with namespaces, in UTF-8. It stands for itself: a
// document type declaration, an entity other than the five of XML, a processing
// instruction and an XInclude element are refused, and nothing that the file names is
// ever fetched, xsi:schemaLocation included. [Limits] and constants bound its bytes,
// its depth, its elements, its attributes and each text. What is wrong with the file as
// a whole is an [*Error], with its line, and ends the check.
//
// # Records
//
// Each record has an [Outcome]. A record without an identifier, with one that is no text,
// or with that of an earlier record is a Failure, and the others go on: see
// [Record.Messages] for what to do. One without a title that its format names, with
// characters in it that cannot be seen, or with several identifiers is a Warning.
//
// The file is read as a stream: what is kept of a record that was read is sixteen bytes
// for its identifier, and its line.
package metadata
