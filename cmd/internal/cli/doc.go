// Package cli is the command line: one file for each noun. A command reads its flags,
// calls a use case of package app (or starts something with packages run and stack),
// and shows the answer as a table, or as JSON with -o json.
//
// An error is two lines, what failed and what to do about it, and an exit code of
// [exit.Codes].
package cli
