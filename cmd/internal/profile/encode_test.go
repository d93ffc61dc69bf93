package profile

import (
	"encoding/json"
	"testing"
	"time"
)

// What is shown can be read again and says the same.
func TestShownProfileIsAProfile(t *testing.T) {
	t.Parallel()
	p := Defaults()
	p.Name, p.Collection, p.Owner = "maps", "maps", "Survey Department"
	p.Identifier.NAAN, p.Identifier.Shoulder = "99999", "fk4"
	p.Fetch.Timeout, p.Fetch.MinRate = Duration(90*time.Second), 3<<20
	p.Notify = Notify{From: "a@example.org", To: []string{"b@example.org"}, On: []Mail{MailReport}}
	data, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	want, _ := json.Marshal(p)
	got, err := json.Marshal(again)
	if err != nil || string(got) != string(want) {
		t.Errorf("%v\n%s\n%s", err, want, got)
	}
	var fields struct {
		Fetch map[string]any `json:"fetch"`
	}
	if err := json.Unmarshal(got, &fields); err != nil || fields.Fetch["timeout"] != "1m30s" || fields.Fetch["min_rate"] != "3 MiB" {
		t.Errorf("%v, %v", err, fields.Fetch)
	}
}
