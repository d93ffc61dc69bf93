// Package views writes what the read models say of batches, jobs, files and servers, for
// people.
package views
