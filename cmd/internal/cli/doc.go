// Package cli is the command line: one file a verb, each of which reads flags,
// calls one use case of package app (or starts something with packages run and
// stack) and shows the answer.
//
// People get tables, programs `-o json`. Every error is two lines, what went
// wrong and what to do about it, and has an exit code that [exitCodes] documents.
package cli
