// Package access has the rules of who may do what: users have roles in scopes, and an
// operation needs something in a collection. What is not granted is refused, so that the
// zero values of all types allow nothing.
package access

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what a user is allowed to be.
type Role string

// The roles.
const (
	Reader    Role = "reader"    // sees
	Depositor Role = "depositor" // deposits, and sees its own submissions
	Operator  Role = "operator"  // sees and acts
	Admin     Role = "admin"     // everything, people and settings too
)

// Roles are the roles.
var Roles = []Role{Reader, Depositor, Operator, Admin}

// Need is what an operation needs of its caller.
type Need string

// The needs.
const (
	See        Need = "see"        // read what a collection has, from whatever submitter
	Deposit    Need = "deposit"    // submit to a collection
	Act        Need = "act"        // change what was submitted: requeue, hold, delete
	Administer Need = "administer" // change users, rights and settings; of no collection
)

// Needs are the needs.
var Needs = []Need{See, Deposit, Act, Administer}

// granted has the needs that each role satisfies in its scope.
var granted = map[Role][]Need{
	Reader:    {See},
	Depositor: {Deposit},
	Operator:  {See, Act},
	Admin:     Needs,
}

// ParseRole checks that s is a role.
func ParseRole(s string) (Role, error) {
	if slices.Contains(Roles, Role(s)) {
		return Role(s), nil
	}
	names := make([]string, len(Roles))
	for i, r := range Roles {
		names[i] = string(r)
	}
	return "", fmt.Errorf("%q is not a role: want %s", s, strings.Join(names, ", "))
}
