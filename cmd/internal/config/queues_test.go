package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
)

// TestDepositQueues: the start values of both queues, as flags say them.
func TestDepositQueues(t *testing.T) {
	t.Parallel()
	r, err := config.Load(config.Sources{Flags: map[string]string{
		"queue_allocation":  "metadata=2,metadata-ana=0",
		"queue_concurrency": "query=7,metadata-ana=3,query-a.b=1",
		"prohibited_users":  "eve, ben",
		"processors":        "metadata-films?users=ana,ben&max_size=1000000&workers=2 query-rest?users=ana&exclude_users=true&preferred=ben&stopped=true",
	}})
	if err != nil {
		t.Fatal(err)
	}
	all := r.DepositQueues()
	c := settings.Merge(all["metadata"], settings.New())
	if c.Allocation.Default != 2 || c.Allocation.For("ana") != 0 || c.Concurrency.For("ana") != 3 || c.Concurrency.Default != fair.DefaultConcurrency || !c.Prohibited["eve"] || !c.Prohibited["ben"] {
		t.Errorf("metadata: %+v", c)
	}
	c = settings.Merge(all["query"], settings.New())
	if c.Allocation.Default != fair.DefaultAllocation || c.Concurrency.Default != 7 || c.Concurrency.For("a.b") != 1 || len(c.Prohibited) != 2 {
		t.Errorf("query: %+v", c)
	}
	want := map[string]domain.Processor{"films": {Queue: "metadata", Users: []string{"ana", "ben"}, MaxSize: 1000000, Workers: 2}}
	if got := settings.Processors("metadata", all["metadata"], settings.New()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	want = map[string]domain.Processor{"rest": {Queue: "query", Users: []string{"ana"}, ExcludeUsers: true, Preferred: []string{"ben"}, Stopped: true}}
	if got := settings.Processors("query", all["query"], settings.New()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestDepositQueueFaults(t *testing.T) {
	t.Parallel()
	for key, values := range map[string][]string{
		"queue_allocation":  {"pending=1", "metadata=-1", "metadata-=1", "metadata=x"},
		"queue_concurrency": {"metadata", "elsewhere-ana=1"},
		"prohibited_users":  {"a\x01b"},
		"processors":        {"films", "metadata-a.b", "metadata-films?size=1", "metadata-films?max_size=-1", "metadata-films?workers=many", "metadata-films?%zz"},
	} {
		for _, value := range values {
			if _, err := config.Load(config.Sources{Flags: map[string]string{key: value}}); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("%s=%q: %v", key, value, err)
			}
		}
	}
}
