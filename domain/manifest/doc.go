// Package manifest reads and writes checkm manifests: the pipe-separated text
// files with which depositors list the files of an object, or the objects of a
// batch.
//
//	#%checkm_0.7
//	#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest
//	#%prefix | mrt: | http://merritt.cdlib.org/terms#
//	#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#
//	#%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | mrt:mimeType
//	http://files.test/a/tide.csv | sha-256 | 9f86d0… | 4 |  | data/tide.csv | text/csv
//	#%eof
//
// # Form
//
// A manifest is UTF-8, with or without a byte order mark, in lines that end in
// LF, CRLF or CR. Cells are separated by a pipe; spaces and tabs around it do not
// count, and trailing empty cells may be missing. Blank lines and lines that
// start with # but not with #% are skipped. A space or pipe inside a value is
// written %20 or %7c; these two are decoded everywhere but in URLs, and nothing
// else is.
//
// The #%profile line says what a row is (see [Profile]). The #%fields line
// names the columns, fileUrl first; without it the columns are the profile's
// own, in their usual order. Both stand before the first row. #%eof is the last
// line: without it the file may have been cut off on its way.
//
// # Warnings
//
// What can be read without some of what is written is taken, with a warning: a #% line
// or a column that is not known, the same #% line twice, lines that end in CR alone,
// characters in a title that cannot be seen, a mimeType that is no media type.
//
// # Faults
//
// What is wrong with the file as a whole is a structural error, and [Parse]
// returns all of them as [Errors]. What is wrong with one row stays in
// [Row.Fault], because a faulty row of a batch becomes a failed job while the
// other rows go on. In an object manifest any such fault makes the object
// incomplete: see [Manifest.Corrupt]. Every error has a line number, a stable
// code and a sentence that says what to do. No message quotes a row's URL, which may
// hold a password or a token.
//
// The package is pure: bytes in, values out.
package manifest
