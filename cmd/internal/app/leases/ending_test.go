package leases_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/domain"
)

// TestClassesOfFailures: what a worker may say whose fault it is, an event of an entry may say
// too.
func TestClassesOfFailures(t *testing.T) {
	t.Parallel()
	said, _ := reflect.TypeFor[leases.Failure]().FieldByName("Class")
	known, _ := reflect.TypeFor[domain.Reason]().FieldByName("Class")
	classes := strings.Split(said.Tag.Get("enum"), ",")
	if len(classes) < 3 {
		t.Fatalf("only the classes %q", classes)
	}
	for _, class := range classes {
		if !slices.Contains(strings.Split(known.Tag.Get("jsonschema"), ","), "enum="+class) {
			t.Errorf("a worker may say %s, and no event may", class)
		}
	}
}
