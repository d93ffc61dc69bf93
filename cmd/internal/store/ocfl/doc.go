// Package ocfl has the names and inventories of the Oxford Common File Layout 1.1, by which
// other programs read stored objects. It does no I/O. Section numbers are those of
// https://ocfl.io/1.1/spec/.
package ocfl
