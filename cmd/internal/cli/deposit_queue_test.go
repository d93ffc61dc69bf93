package cli

import (
	"slices"
	"testing"
)

// TestUsersOf: names of users have blanks, and may have commas.
func TestUsersOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"ana"}, []string{"ana"}},
		{[]string{"ben,ana", "ana", " ,"}, []string{"ana", "ben"}},
		{[]string{"Ana Li, ben"}, []string{"Ana Li", "ben"}},
		{[]string{`"Li, Ana",ben`}, []string{"Li, Ana", "ben"}},
		{[]string{`o"neill`}, []string{`o"neill`}},
	} {
		if got := usersOf(c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
