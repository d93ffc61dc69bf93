package access

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// Caller is who asks for an operation, with the rights that it has now.
type Caller struct {
	Name   string // of the user, as it is the submitter of deposits
	Rights []Right
}

// nameForm is what names of users are: they stand in paths, logs and events.
var nameForm = regexp.MustCompile(`^[a-z0-9._@-]{1,64}$`)

// CheckName returns an error unless a name can be that of a user.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%.80q cannot be the name of a user: use 1 to 64 of a-z, 0-9, dot, underscore, at sign and hyphen", name)
	}
	return nil
}

// May reports whether the caller has what an operation needs in a collection; "" is what
// belongs to none.
func (c Caller) May(need Need, collection string) bool {
	return c.Name != "" && slices.ContainsFunc(c.Rights, func(r Right) bool { return r.allows(need, collection) })
}

// SeesUser returns the only user whose things the caller sees of what belongs to no collection,
// "" = they see those of all users. Without a name it is one that no user can have.
func (c Caller) SeesUser() string {
	if c.May(See, "") {
		return ""
	}
	return cmp.Or(c.Name, "no user")
}

// Filter returns what the caller sees: the collections in which it may see, and its own
// submissions while it is a depositor anywhere, also of a collection whose right has since
// been withdrawn.
func (c Caller) Filter() Filter {
	var f Filter
	if c.Name == "" {
		return f
	}
	for _, r := range c.Rights {
		switch {
		case r.Check() != nil:
		case r.Role == Depositor:
			f.Submitter = c.Name
		case r.Scope.All:
			return Filter{All: true}
		default:
			f.Collections = append(f.Collections, r.Scope.Collections...)
		}
	}
	slices.Sort(f.Collections)
	f.Collections = slices.Compact(f.Collections)
	return f
}

// Filter limits a list to what a caller sees. The zero value selects nothing.
type Filter struct {
	All         bool     // everything; the other fields are empty
	Collections []string // in order, each once
	Submitter   string   // whose submissions are selected in every collection; "" = of no user
}

// Selects reports whether what a submitter deposited in a collection is in the list.
func (f Filter) Selects(collection, submitter string) bool {
	return f.All || In(f.Collections...).Covers(collection) || f.Submitter != "" && submitter == f.Submitter
}

// Limits returns whether a list is limited, to which collections, and to whose submissions
// besides; by nil it is not.
func (f *Filter) Limits() (limited bool, collections []string, own string) {
	if f == nil || f.All {
		return false, []string{}, ""
	}
	return true, append([]string{}, f.Collections...), f.Submitter
}

// FilterFor returns the collections in which the caller has what an operation needs.
func (c Caller) FilterFor(need Need) Filter {
	var f Filter
	for _, r := range c.Rights {
		switch {
		case c.Name == "" || r.Check() != nil || !slices.Contains(granted[r.Role], need):
		case r.Scope.All:
			return Filter{All: true}
		default:
			f.Collections = append(f.Collections, r.Scope.Collections...)
		}
	}
	slices.Sort(f.Collections)
	f.Collections = slices.Compact(f.Collections)
	return f
}

// LimitTo returns the collections that both filters select.
func (f Filter) LimitTo(with Filter) Filter {
	switch {
	case f.All:
		return Filter{All: with.All, Collections: with.Collections}
	case with.All:
		return Filter{Collections: f.Collections}
	}
	var both Filter
	for _, name := range f.Collections {
		if slices.Contains(with.Collections, name) {
			both.Collections = append(both.Collections, name)
		}
	}
	return both
}

// Empty reports whether the filter selects nothing.
func (f Filter) Empty() bool { return !f.All && len(f.Collections) == 0 && f.Submitter == "" }
