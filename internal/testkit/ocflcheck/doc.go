// Package ocflcheck looks at storage roots of OCFL as other programs do: by the rules of the
// specification, written from it without the code that stores, and with a reader that is not
// ours.
package ocflcheck
