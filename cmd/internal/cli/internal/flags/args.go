package flags

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Exactly lets a command have n arguments. The error names those of its Use.
func Exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return given(c, len(args))
		}
		return nil
	}
}

// AtLeast lets a command have n arguments or more. The error names those of its Use.
func AtLeast(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return given(c, len(args))
		}
		return nil
	}
}

func given(c *cobra.Command, n int) error {
	_, wanted, _ := strings.Cut(c.Use, " ")
	switch n {
	case 0:
		return fmt.Errorf("give %s: no argument is given", wanted)
	case 1:
		return fmt.Errorf("give %s: one argument is given", wanted)
	}
	return fmt.Errorf("give %s: %d arguments are given", wanted, n)
}
