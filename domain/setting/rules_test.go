package setting_test

import (
	"math"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/setting"
)

// TestMetadataRules: a rule of metadata that bounds nothing, or whose bounds are none, is refused;
// so is one without a predicate, which alone says values.
func TestMetadataRules(t *testing.T) {
	t.Parallel()
	number := func(n float64) *float64 { return &n }
	for _, c := range []struct {
		rule setting.MetadataRule
		says string // "" = it is one
	}{
		{setting.MetadataRule{Name: "seeing", Max: number(2)}, ""},
		{setting.MetadataRule{Name: "seeing", Min: number(-0.000001), Max: number(0)}, ""},
		{setting.MetadataRule{Name: "seeing", Min: number(-1e15), Max: number(1e15)}, ""},
		{setting.MetadataRule{Name: "filter", Values: []string{"R", "V"}}, ""},
		{setting.MetadataRule{Max: number(2)}, "has a name"},
		{setting.MetadataRule{Name: strings.Repeat("x", 65), Max: number(2)}, "has a name"},
		{setting.MetadataRule{Name: "a\nb", Max: number(2)}, "has a name"},
		{setting.MetadataRule{Name: "seeing"}, "say which values of seeing are taken"},
		{setting.MetadataRule{Name: "seeing", Min: number(2), Max: number(1)}, "min is not above max"},
		{setting.MetadataRule{Name: "seeing", Max: number(1e-7)}, "have an amount"},
		{setting.MetadataRule{Name: "seeing", Min: number(2e15)}, "have an amount"},
		{setting.MetadataRule{Name: "seeing", Min: number(math.Copysign(0, -1))}, "have an amount"},
		{setting.MetadataRule{Name: "seeing", Max: number(math.NaN())}, "have an amount"},
		{setting.MetadataRule{Name: "filter", Values: []string{"a\nb"}}, "one of"},
		{setting.MetadataRule{Name: "filter", Values: make([]string, 51)}, "one of"},
	} {
		rules := setting.Rules{Metadata: []setting.MetadataRule{c.rule}}
		says(t, rules.Check(), "a predicate that says them")
		rules.Predicate = &setting.Predicate{URL: "https://files.test/may"}
		says(t, rules.Check(), c.says)
	}
}
