package flags

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	two, some := &cobra.Command{Use: "get IDENTIFIER FILE"}, &cobra.Command{Use: "make DIRECTORY|URL..."}
	for _, c := range []struct {
		of   *cobra.Command
		is   cobra.PositionalArgs
		args []string
		want string
	}{
		{two, Exactly(2), []string{"a", "b"}, ""},
		{two, Exactly(2), []string{"a"}, "give IDENTIFIER FILE: one argument is given"},
		{two, Exactly(2), []string{"a", "b", "c"}, "give IDENTIFIER FILE: 3 arguments are given"},
		{some, AtLeast(1), nil, "give DIRECTORY|URL...: no argument is given"},
		{some, AtLeast(1), []string{"a", "b"}, ""},
	} {
		got := ""
		if err := c.is(c.of, c.args); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.of.Use, c.args, got, c.want)
		}
	}
}
