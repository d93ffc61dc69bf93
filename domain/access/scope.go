package access

import (
	"errors"
	"slices"
	"strings"
)

// Scope is a set of collections: all of them, or those that are named. The zero value
// is empty.
type Scope struct {
	All         bool
	Collections []string
}

// Everywhere is the scope of all collections, those of the future too.
var Everywhere = Scope{All: true}

// In returns the scope of some collections.
func In(collections ...string) Scope { return Scope{Collections: collections} }

// Covers reports whether a collection is in the scope. What is of no collection is in the
// scope of all only.
func (s Scope) Covers(collection string) bool {
	return s.All || collection != "" && slices.Contains(s.Collections, collection)
}

// Right is a role in a scope.
type Right struct {
	Role  Role
	Scope Scope
}

// Check returns an error if the right cannot be given.
func (r Right) Check() error {
	if _, err := ParseRole(string(r.Role)); err != nil {
		return err
	}
	switch {
	case r.Role == Admin && !r.Scope.All:
		return errors.New("an admin is one of all collections; for some of them give the roles operator and depositor")
	case r.Scope.All && len(r.Scope.Collections) > 0:
		return errors.New("a right is for all collections or for those that are named, not for both")
	case !r.Scope.All && len(r.Scope.Collections) == 0:
		return errors.New("a right needs a collection, or all of them")
	case slices.Contains(r.Scope.Collections, ""):
		return errors.New("a collection of a right has no name")
	}
	return nil
}

// String returns the right as text, such as operator in maps, texts.
func (r Right) String() string {
	if r.Scope.All {
		return string(r.Role) + " in all collections"
	}
	return string(r.Role) + " in " + strings.Join(r.Scope.Collections, ", ")
}

// allows reports whether the right satisfies a need. One that cannot be given satisfies
// none, whatever it came from.
func (r Right) allows(need Need, collection string) bool {
	return r.Check() == nil && slices.Contains(granted[r.Role], need) && r.Scope.Covers(collection)
}
