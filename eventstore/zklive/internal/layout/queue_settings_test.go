package layout_test

import (
	"errors"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// TestQueueSettingPaths: the node of a setting is in a directory that every tree has, and
// shows of which setting it is.
func TestQueueSettingPaths(t *testing.T) {
	t.Parallel()
	root := layout.Root("/acc")
	for _, c := range []struct {
		kind domain.SettingKind
		name string
		want string
	}{
		{domain.SettingDepositQueue, "metadata", "/acc/queues/metadata/config/defaults"},
		{domain.SettingUserLimit, domain.UserLimitName("query", "../a.b"), "/acc/queues/query/config/users/%2E%2E%2Fa%2Eb"},
		{domain.SettingUserLimit, domain.UserLimitName("query", "defaults"), "/acc/queues/query/config/users/defaults"},
		{domain.SettingProcessor, "query-films-2", "/acc/queues/query/config/processors/films-2"},
		{domain.SettingProcessor, "nowhere-films", ""},
	} {
		got := root.SettingValue(c.kind, c.name)
		if got != c.want {
			t.Errorf("%s %s is at %q, want %q", c.kind, c.name, got, c.want)
			continue
		}
		if got == "" {
			continue
		}
		if !slices.Contains(root.Dirs(), path.Dir(got)) {
			t.Errorf("no tree has the directory of %s", got)
		}
		queue, _, _ := domain.SplitQueueName(c.kind, c.name)
		dir := path.Base(path.Dir(got))
		if dir == "config" {
			dir = ""
		}
		if a, ok := layout.QueueSetting(queue, dir, path.Base(got)); !ok || a != domain.SettingAggregate(c.kind, c.name) {
			t.Errorf("%s is the node of %s", got, a)
		}
	}
	for _, bad := range [][2]string{{"", "users"}, {"users", "a.b"}, {"processors", "a.b"}, {"else", "ana"}} {
		if a, ok := layout.QueueSetting("query", bad[0], bad[1]); ok {
			t.Errorf("%q is the node of %s", bad, a)
		}
	}
}

// TestValuesOfQueueSettings: a value comes back from its node, and one that is damaged, or
// of another setting, is an error.
func TestValuesOfQueueSettings(t *testing.T) {
	t.Parallel()
	root, three := layout.Root(""), 3
	for _, s := range []domain.Setting{
		{Kind: domain.SettingDepositQueue, Name: "query", SettingValue: domain.SettingValue{DepositQueue: &domain.DepositQueue{Prohibited: []string{}, Allocation: &three}}},
		{Kind: domain.SettingUserLimit, Name: "query-a%2Eb", SettingValue: domain.SettingValue{UserLimit: &domain.UserLimit{User: "a.b", Concurrency: &three}}},
		{Kind: domain.SettingProcessor, Name: "query-films", SettingValue: domain.SettingValue{Processor: &domain.Processor{Queue: "query", Users: []string{"ana"}, Stopped: true}}},
		{Kind: domain.SettingDataset, Name: "nights", SettingValue: domain.SettingValue{Dataset: &domain.Dataset{Collection: "maps", Profile: "maps", ByVersion: true}}},
		{Kind: domain.SettingDiscovery, Name: "nights", SettingValue: domain.SettingValue{Discovery: &domain.Discovery{URL: "https://data.example.org/", Dataset: "nights", EverySeconds: 60, NewerThan: domain.At(time.UnixMilli(1))}}},
		{Kind: domain.SettingProfile, Name: "maps", SettingValue: domain.SettingValue{Profile: &domain.Profile{Version: strings.Repeat("0", 12), SHA256: strings.Repeat("0", 64)}}},
	} {
		nodes := root.SettingNodes(s)
		if len(nodes) != 1 || nodes[0].Path != root.SettingValue(s.Kind, s.Name) {
			t.Fatalf("%+v", nodes)
		}
		v, newer, err := root.ValueOf(s.Kind, s.Name, nodes[0].Data(), time.Time{})
		if err != nil || newer || !reflect.DeepEqual(v, s.SettingValue) {
			t.Errorf("%s comes back as %+v, %v", nodes[0].Data(), v, err)
		}
		for _, bad := range []string{"", "{", "null", "{}", "[]", `{"allocation":-1}`, `{"user":"b","allocation":-1}`, `{"queue":"metadata"}`} {
			if s.Kind == domain.SettingDepositQueue && strings.Contains(bad, "queue") {
				continue // a field that is not known
			}
			if v, _, err := root.ValueOf(s.Kind, s.Name, []byte(bad), time.Time{}); !errors.Is(err, eventstore.ErrBroken) || v != (domain.SettingValue{}) {
				t.Errorf("%s %s: %q is read as %+v, %v", s.Kind, s.Name, bad, v, err)
			}
		}
	}
}

// TestValuesOfNewerPrograms: what a newer program has set besides damages nothing; the rest is
// as ever.
func TestValuesOfNewerPrograms(t *testing.T) {
	t.Parallel()
	root, three := layout.Root(""), 3
	for _, c := range []struct {
		kind       domain.SettingKind
		name, data string
		want       domain.SettingValue
		broken     bool
	}{
		{domain.SettingDepositQueue, "metadata", `{"later":"x"}`, domain.SettingValue{DepositQueue: &domain.DepositQueue{}}, false},
		{domain.SettingDepositQueue, "metadata", `{"suspended":true,"later":{"a":1}}`, domain.SettingValue{DepositQueue: &domain.DepositQueue{Suspended: true}}, false},
		{domain.SettingDepositQueue, "metadata", `{"allocation":-1,"later":1}`, domain.SettingValue{}, true},
		{domain.SettingDepositQueue, "metadata", `{"prohibited":["b","a"],"later":1}`, domain.SettingValue{}, true},
		{domain.SettingUserLimit, "metadata-ana", `{"user":"ana","later":1}`, domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana"}}, false},
		{domain.SettingUserLimit, "metadata-ana", `{"user":"ana","allocation":3,"later":1}`, domain.SettingValue{UserLimit: &domain.UserLimit{User: "ana", Allocation: &three}}, false},
		{domain.SettingUserLimit, "metadata-ana", `{"user":"bob","later":1}`, domain.SettingValue{}, true},
		{domain.SettingProcessor, "query-films", `{"queue":"query","later":1}`, domain.SettingValue{Processor: &domain.Processor{Queue: "query"}}, false},
		{domain.SettingProcessor, "query-films", `{"queue":"metadata","later":1}`, domain.SettingValue{}, true},
	} {
		v, newer, err := root.ValueOf(c.kind, c.name, []byte(c.data), time.Time{})
		if errors.Is(err, eventstore.ErrBroken) != c.broken || newer == c.broken || !reflect.DeepEqual(v, c.want) {
			t.Errorf("%s %s: %s is read as %+v, newer %v, %v", c.kind, c.name, c.data, v, newer, err)
		}
	}
}
