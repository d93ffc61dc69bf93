package app

import (
	"os"
	"strings"
	"testing"
)

// TestOrdersAreDocumented: docs/api.md has each order of each list, and no other.
func TestOrdersAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	for list, orders := range map[string]Orders{"batches": BatchOrders, "jobs": JobOrders, "files": FileOrders} {
		_, row, _ := strings.Cut(string(text), "\n| "+list+" | `"+orders.Any+"`")
		row, _, _ = strings.Cut(row, "\n")
		if _, few, _ := strings.Cut(row, " | "); few != "`"+strings.Join(orders.Few, "`, `")+"` |" {
			t.Errorf("the row of %s has the orders %s, want %v", list, few, orders.Few)
		}
	}
}
