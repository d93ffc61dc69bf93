// Package lookup reads lists of identifiers that users ask about, and defines what they
// are answered. It is pure; what is known of an identifier comes as an argument.
package lookup
