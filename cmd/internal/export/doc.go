// Package export writes events and reports: CSV for spreadsheets, JSON lines for
// programs, Parquet for analysts, text, pages, mails and charts for people. Rows are
// written as they are read, so that memory does not depend on their number.
//
// # Promises
//
// What outsiders wrote does no harm where it is opened: in CSV no cell is taken for a
// formula, and no control character reaches a terminal or a page; JSON keeps every
// character and escapes those.
package export
