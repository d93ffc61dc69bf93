// Package profile reads the profiles: one YAML file for each collection, which
// says who owns it, how its objects are named and stored, and what its deposits
// may do.
//
// [Load] reads a directory as a whole and names every fault at once, each with
// file, line, field and remedy. Fields that are left out take the values of
// [Defaults]. Secrets have no place in a profile: they come from the environment
// or from files named there.
package profile
