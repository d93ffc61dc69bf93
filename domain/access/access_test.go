package access_test

import (
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain/access"
)

// rules is every role × every need: "yes" is within the scope of the right, "no" is never.
var rules = map[access.Role]map[access.Need]string{
	access.Reader:    {access.See: "yes", access.Deposit: "no", access.Act: "no", access.Administer: "no"},
	access.Depositor: {access.See: "no", access.Deposit: "yes", access.Act: "no", access.Administer: "no"},
	access.Operator:  {access.See: "yes", access.Deposit: "no", access.Act: "yes", access.Administer: "no"},
	access.Admin:     {access.See: "yes", access.Deposit: "yes", access.Act: "yes", access.Administer: "yes"},
}

// scopes is every scope × every collection; "" is what belongs to none.
var scopes = []struct {
	name   string
	scope  access.Scope
	covers []string
}{
	{"none", access.Scope{}, nil},
	{"maps", access.In("maps"), []string{"maps"}},
	{"maps and texts", access.In("texts", "maps"), []string{"maps", "texts"}},
	{"no name", access.In(""), nil},
	{"all", access.Everywhere, []string{"", "maps", "texts", "other"}},
}

var collections = []string{"", "maps", "texts", "other"}

// TestMay is every role × need × scope × collection.
func TestMay(t *testing.T) {
	t.Parallel()
	if len(rules) != len(access.Roles) {
		t.Fatalf("%d roles have rules, there are %q", len(rules), access.Roles)
	}
	for _, role := range access.Roles {
		for _, need := range access.Needs {
			rule, ok := rules[role][need]
			if !ok {
				t.Fatalf("%s × %s has no rule", role, need)
			}
			for _, s := range scopes {
				caller := access.Caller{Name: "jo", Rights: []access.Right{{Role: role, Scope: s.scope}}}
				for _, collection := range collections {
					want := rule == "yes" && slices.Contains(s.covers, collection) && (role != access.Admin || s.scope.All)
					if got := caller.May(need, collection); got != want {
						t.Errorf("a %s of %s may %s in %q: %t", role, s.name, need, collection, got)
					}
					if need == access.See && collection == "" && (caller.SeesUser() == "") != want {
						t.Errorf("a %s of %s sees only what belongs to %q", role, s.name, caller.SeesUser())
					}
					if need == access.See {
						checkFilter(t, caller, role, collection, want)
					}
				}
			}
		}
	}
}

// checkFilter compares what a list shows with what the caller may see.
func checkFilter(t *testing.T, caller access.Caller, role access.Role, collection string, sees bool) {
	t.Helper()
	right := caller.Rights[0]
	f := caller.Filter()
	if got := f.Selects(collection, "else"); got != sees {
		t.Errorf("a list of a %s of %+v shows another's in %q: %t", role, right.Scope, collection, got)
	}
	own := sees || role == access.Depositor && right.Check() == nil
	if got := f.Selects(collection, caller.Name); got != own {
		t.Errorf("a list of a %s of %+v shows the own in %q: %t", role, right.Scope, collection, got)
	}
}

// TestRightsAdd: what one right lacks another may grant, each in its own scope.
func TestRightsAdd(t *testing.T) {
	t.Parallel()
	caller := access.Caller{Name: "jo", Rights: []access.Right{
		{Role: access.Depositor, Scope: access.In("maps")}, {Role: access.Operator, Scope: access.In("texts", "maps")}, {Role: access.Reader, Scope: access.In("texts")},
	}}
	if !caller.May(access.Deposit, "maps") || caller.May(access.Deposit, "texts") || !caller.May(access.Act, "texts") || caller.May(access.Act, "other") {
		t.Error("rights do not add up by their scopes")
	}
	f := caller.Filter()
	if f.All || f.Submitter != "jo" || !slices.Equal(f.Collections, []string{"maps", "texts"}) {
		t.Errorf("the filter is %+v", f)
	}
}

// TestNothingIsGrantedByDefault: zero values, unknown roles and callers without a name.
func TestNothingIsGrantedByDefault(t *testing.T) {
	t.Parallel()
	for _, c := range []access.Caller{
		{}, {Name: "jo"}, {Rights: []access.Right{{Role: access.Admin, Scope: access.Everywhere}}},
		{Rights: []access.Right{{Role: access.Depositor, Scope: access.Everywhere}}},
		{Name: "jo", Rights: []access.Right{{Scope: access.Everywhere}, {Role: "root", Scope: access.Everywhere}}},
	} {
		f := c.Filter()
		if only := c.SeesUser(); only == "" || only != c.Name && access.CheckName(only) == nil {
			t.Errorf("%+v sees what belongs to no collection of %q", c, only)
		}
		for _, collection := range collections {
			for _, need := range append(slices.Clone(access.Needs), "", "all") {
				if c.May(need, collection) {
					t.Errorf("%+v may %s in %q", c, need, collection)
				}
			}
			if f.Selects(collection, "") || f.Selects(collection, "jo") {
				t.Errorf("%+v sees in %q", c, collection)
			}
		}
	}
}

// TestRightsThatCannotBeGiven are refused with a sentence.
func TestRightsThatCannotBeGiven(t *testing.T) {
	t.Parallel()
	for _, r := range []access.Right{
		{}, {Role: "root", Scope: access.Everywhere}, {Role: access.Reader}, {Role: access.Reader, Scope: access.In("")},
		{Role: access.Admin, Scope: access.In("maps")}, {Role: access.Reader, Scope: access.Scope{All: true, Collections: []string{"maps"}}},
	} {
		if r.Check() == nil {
			t.Errorf("%+v can be given", r)
		}
	}
	if err := (access.Right{Role: access.Admin, Scope: access.Everywhere}).Check(); err != nil {
		t.Error(err)
	}
}

// TestFilterFor: a filter of what a caller may act on selects exactly where it may act.
func TestFilterFor(t *testing.T) {
	t.Parallel()
	for _, role := range access.Roles {
		for _, need := range access.Needs {
			for _, s := range scopes {
				caller := access.Caller{Name: "jo", Rights: []access.Right{{Role: role, Scope: s.scope}}}
				f, some := caller.FilterFor(need), false
				for _, collection := range collections {
					may := caller.May(need, collection)
					some = some || may
					for _, submitter := range []string{"jo", "else"} {
						if got := f.Selects(collection, submitter); got != may {
							t.Errorf("a %s of %s may %s what %s deposited in %q: %t, selected: %t", role, s.name, need, submitter, collection, may, got)
						}
					}
				}
				if f.Empty() == some {
					t.Errorf("a %s of %s, %s: empty %t, selects something %t", role, s.name, need, f.Empty(), some)
				}
			}
		}
	}
	if f := (access.Caller{Rights: []access.Right{{Role: access.Operator, Scope: access.Everywhere}}}).FilterFor(access.Act); !f.Empty() {
		t.Errorf("a caller without a name may act on %+v", f)
	}
}

// TestFilterLimitTo: what two filters have in common is what both select.
func TestFilterLimitTo(t *testing.T) {
	t.Parallel()
	filters := []access.Filter{{}, {All: true}, {Collections: []string{"maps"}}, {Collections: []string{"maps", "texts"}}, {Collections: []string{"other"}}}
	for _, one := range filters {
		for _, two := range filters {
			both := one.LimitTo(two)
			for _, collection := range collections {
				if got, want := both.Selects(collection, "jo"), one.Selects(collection, "jo") && two.Selects(collection, "jo"); got != want {
					t.Errorf("%+v and %+v select in %q: %t", one, two, collection, got)
				}
			}
		}
	}
}
