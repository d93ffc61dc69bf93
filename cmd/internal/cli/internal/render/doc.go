// Package render writes what people see at a terminal: tables that fit the screen,
// bars that show progress, and values as text. What outsiders wrote is shown without
// control characters; see [export.Line].
package render
