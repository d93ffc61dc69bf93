package ops

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "update docs/metrics.md")

const page = "../../../docs/metrics.md"

// everything returns all metrics that a process has.
func everything() *Metrics {
	m := NewMetrics()
	m.Build("", "")
	m.Discoveries(func() int64 { return 0 })
	m.Installation(shared(func() error { return nil }))
	return m
}

func TestEveryMetricExplainsItself(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range everything().List() {
		name := strings.TrimPrefix(d.Name, "accession_")
		if name == d.Name || seen[d.Name] || !strings.HasSuffix(d.Help, ".") {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
		if d.Type == "counter" && !strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a counter and does not end in _total", d.Name)
		}
		if d.Type == "histogram" && !strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_events") {
			t.Errorf("%s does not name its unit", d.Name)
		}
	}
}

func TestDocumentationOfMetrics(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Metrics\n\nGenerated from the program by `make generate`. `accession serve` serves these metrics at `GET /metrics` on `listen_ops`, together with those of the Go runtime (`go_…`) and of the process (`process_…`).\n\n")
	b.WriteString("Metrics of the whole installation (queues, outbox, lag, processes) are the same in every process: aggregate them with max. All others describe one process: aggregate them with sum.\n\n")
	b.WriteString("| name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, d := range everything().List() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatalf("%v; write it with `make generate`", err)
	}
	if diff := cmp.Diff(string(have), b.String()); diff != "" {
		t.Errorf("docs/metrics.md is out of date; run `make generate`:\n%s", diff)
	}
}

var metricName = regexp.MustCompile(`\baccession_[a-z_]+\b`)

// TestDashboardAndAlertsNameMetricsThatExist reads what is deployed beside the
// program, and the pages that name metrics.
func TestDashboardAndAlertsNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, d := range everything().List() {
		known[d.Name] = true
		if d.Type == "histogram" {
			known[d.Name+"_bucket"], known[d.Name+"_sum"], known[d.Name+"_count"] = true, true, true
		}
	}
	for _, file := range []string{"deploy/prometheus/alerts.yaml", "deploy/grafana/accession.json"} {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
}
