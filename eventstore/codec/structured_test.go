package codec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// The body of an event may come from any writer of JSON: other order, spaces, escapes,
// attributes that are not known, null for what is not there.
func TestDecodeAnyJSON(t *testing.T) {
	t.Parallel()
	for _, r := range fuller() {
		m, err := codec.Encode(r, "golden")
		if err != nil {
			t.Fatal(err)
		}
		want, err := codec.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		var event map[string]json.RawMessage
		if err := json.Unmarshal(m.Data, &event); err != nil {
			t.Fatal(err)
		}
		event["sequence"], event["datacontenttype"], event["partitionkey"] = json.RawMessage(`1`), json.RawMessage(`"application/json"`), json.RawMessage("null")
		for name, body := range map[string]string{
			"the other way around": inOrder(event, func(a, b string) int { return strings.Compare(b, a) }),
			"data first":           inOrder(event, strings.Compare),
			"spaces":               strings.ReplaceAll(inOrder(event, strings.Compare), `,"`, " ,\n\t\""),
			"escapes":              strings.Replace(string(m.Data), `"subject":"`+string(r.Aggregate.Kind)+`/`, `"subject":"`+string(r.Aggregate.Kind)+`\/`, 1),
			"more at the end":      strings.TrimSuffix(string(m.Data), "}") + `,"later":{"a":[1]}}`,
		} {
			got, err := codec.Decode(codec.Message{Subject: m.Subject, Header: m.Header, Data: []byte(body)})
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%s, %s: %v (-want +got):\n%s", r.Type, name, err, diff)
			}
		}
	}
}

// inOrder writes an object with its keys in an order.
func inOrder(event map[string]json.RawMessage, by func(a, b string) int) string {
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(event), by) {
		parts = append(parts, fmt.Sprintf("%q:%s", key, event[key]))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// Numbers are exact up to the last digit, however large.
func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	r := fuller()[0]
	const most = 1<<63 - 1
	r.Version, r.Zxid, r.Epoch = most, most-1, most-2
	m, err := codec.Encode(r, "golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"version":"9223372036854775807"`, `"zxid":"9223372036854775806"`, `"epoch":"9223372036854775805"`} {
		if !bytes.Contains(m.Data, []byte(want)) {
			t.Errorf("%s lacks %s", m.Data, want)
		}
	}
	got, err := codec.Decode(m)
	if err != nil || got.Version != r.Version || got.Zxid != r.Zxid || got.Epoch != r.Epoch {
		t.Errorf("%d, %d, %d, %v", got.Version, got.Zxid, got.Epoch, err)
	}
}

// A body that is not an event is refused by name, and what could be read of it is kept.
func TestDecodeRefusesBodies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, new string
		want     string
	}{
		"specversion": {`"1.0"`, `"0.3"`, "specversion"},
		"content":     {`"data":`, `"datacontenttype":"text/xml","data":`, "datacontenttype"},
		"type":        {`accession.job.accepted.v1`, `job.accepted`, "type is"},
		"unknown":     {`accession.job.accepted.v1`, `accession.job.danced.v1`, "upgrade"},
		"newer":       {`job.accepted.v1`, `job.accepted.v2`, "upgrade"},
		"kind":        {`accession.job.accepted.v1`, `accession.batch.held.v1`, "belongs to a batch"},
		"version":     {`"version":"`, `"version":"x`, "version is"},
		"number":      {`"epoch":"2"`, `"epoch":2`, "epoch"},
		"id":          {`"id":"job`, `"id":"bob`, "id is"},
		"subject":     {`"subject":"job/jid0000000042"`, `"subject":"job/jid0000000043"`, "id is"},
		"NUL":         {`"actor":"`, `"actor":"\u0000`, "actor: not valid text"},
		"time":        {`"time":"`, `"time":"noon`, "time is"},
		"no data":     {`"data":`, `"date":`, "no data"},
		"data":        {`"data":{`, `"data":[{`, "not JSON"},
		"other data":  {`"data":`, `"data":[],"date":`, "data of"},
		"not JSON":    {`{"specversion"`, `"specversion"`, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := structured.read(t, domain.EventJobAccepted, 1)
			body := strings.Replace(string(m.Data), tc.old, tc.new, 1)
			if body == string(m.Data) {
				t.Fatal("nothing was changed")
			}
			m.Data = []byte(body)
			_, err := codec.Decode(m)
			var broken *codec.DecodeError
			if !errors.Is(err, codec.ErrBroken) || !errors.As(err, &broken) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want a broken message that names %q", err, tc.want)
			}
			if broken.Envelope.Aggregate.ID != "jid0000000042" {
				t.Errorf("the aggregate is %v", broken.Envelope.Aggregate)
			}
			if name == "newer" && (broken.Envelope.Version == 0 || broken.Envelope.CommandID == "" || bytes.Contains(broken.Data, []byte("specversion"))) {
				t.Errorf("of a newer event is known: %+v, %s", broken.Envelope, broken.Data)
			}
		})
	}
}

// Without the header a body is no event in structured mode.
func TestContentTypeDecides(t *testing.T) {
	t.Parallel()
	m := structured.read(t, domain.EventJobAccepted, 1)
	for _, header := range []map[string][]string{nil, {"content-type": {"application/json"}}, {"content-type": {"application/cloudevents"}}} {
		m.Header = header
		if r, err := codec.Decode(m); !errors.Is(err, codec.ErrBroken) {
			t.Errorf("%v: %+v, %v", header, r, err)
		}
	}
}

// What a message says it is can be asked without reading its data, in either mode.
func TestIdentify(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		for _, r := range fuller() {
			m, err := mode.encode(r, "golden")
			if err != nil {
				t.Fatal(err)
			}
			want := codec.Identity{ID: r.ID(), Type: "accession." + string(r.Type) + ".v1", Command: r.CommandID}
			if got := codec.Identify(m); got != want {
				t.Errorf("%s: %+v, want %+v", mode.dir, got, want)
			}
			if version, command, err := codec.DecodeVersion(m); version != r.Version || command != r.CommandID || err != nil {
				t.Errorf("%s of %s: %d, %s, %v", r.ID(), mode.dir, version, command, err)
			}
		}
		m := mode.read(t, domain.EventJobAccepted, 1)
		m.Header["ce-version"] = []string{"0"}
		m.Data = bytes.Replace(m.Data, []byte(`"version":"`), []byte(`"version":"-`), 1)
		if _, _, err := codec.DecodeVersion(m); !errors.Is(err, codec.ErrBroken) {
			t.Errorf("%s: %v", mode.dir, err)
		}
	}
}

// FuzzDecode: whatever is in a message, it is refused, or it is an event that Encode
// writes so that it reads the same again.
func FuzzDecode(f *testing.F) {
	for _, mode := range modes {
		for _, r := range fuller()[:3] {
			m, err := mode.encode(r, "golden")
			if err != nil {
				f.Fatal(err)
			}
			f.Add(mode.dir == structured.dir, m.Subject, m.Data)
		}
	}
	old, err := binary.encode(fuller()[0], "golden")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body bool, subject string, data []byte) {
		m := codec.Message{Subject: subject, Header: old.Header, Data: data}
		if body {
			m.Header = map[string][]string{"content-type": {"application/cloudevents+json"}}
		}
		r, err := codec.Decode(m)
		if err != nil {
			if !errors.Is(err, codec.ErrBroken) {
				t.Fatalf("%v is not broken", err)
			}
			return
		}
		if _, err := codec.DecodeRaw(m); err != nil {
			t.Fatalf("without our types: %v", err)
		}
		again, err := codec.Encode(r, "golden")
		if errors.Is(err, codec.ErrBroken) { // too large, or an id that is no text
			return
		}
		want, _, wantErr := codec.Sanitise(r)
		if want.Source == "" {
			want.Source = "/accession/golden"
		}
		got, readErr := codec.Decode(again)
		if diff := cmp.Diff(want, got); err != nil || wantErr != nil || readErr != nil || diff != "" {
			t.Fatalf("%v, %v, %v (-written +read):\n%s", err, wantErr, readErr, diff)
		}
	})
}
