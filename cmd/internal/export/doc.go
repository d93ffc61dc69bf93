// Package export writes rows in the formats that people and programs take them in:
// CSV for spreadsheets, JSON lines for programs, Parquet for analysts. Rows are
// written as they come, so that memory does not depend on how many there are.
//
// # Promises
//
// What strangers wrote does no harm where it is opened: in CSV no cell is taken for
// a formula, and no control character reaches a terminal or a page; JSON keeps every
// character and escapes those.
package export
