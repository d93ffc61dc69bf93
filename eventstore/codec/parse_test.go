package codec

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

// TestParse: data of every type is read as encoding/json reads it, or left to it.
func TestParse(t *testing.T) {
	t.Parallel()
	easy := rapid.StringMatching(`[ -~]*`).Filter(plain)
	hard := rapid.OneOf(easy, rapid.String(), rapid.SampledFrom([]string{"\x00", "\xff", "<", "\u2028", "\x7f"}))
	rapid.Check(t, func(t *rapid.T) {
		def := rapid.SampledFrom(domain.Registry).Draw(t, "type")
		simple := rapid.Bool().Draw(t, "simple")
		text := hard
		if simple {
			text = easy
		}
		v := def.New()
		lists := fill(t, reflect.ValueOf(v).Elem(), text)
		written, err := marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, want := def.New(), def.New()
		if err := json.Unmarshal(written, want); err != nil {
			t.Fatal(err)
		}
		read := parse(written, got)
		if simple && !lists && !read {
			t.Errorf("%s was left to encoding/json", written)
		}
		if read && !reflect.DeepEqual(got, want) {
			t.Errorf("%s was read as %+v, want %+v", written, got, want)
		}
	})
}

// fill sets some of the fields, and reports whether there is a list among them, or
// nothing at all.
func fill(t *rapid.T, v reflect.Value, text *rapid.Generator[string]) (lists bool) {
	switch kind := v.Kind(); {
	case v.Type() == timeType:
		if rapid.Bool().Draw(t, "known") {
			v.Set(reflect.ValueOf(domain.At(time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(t, "time")))))
		}
	case kind == reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case kind == reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			return fill(t, v.Elem(), text)
		}
		return true // null, where it is not left out
	case kind == reflect.Struct:
		for i := range v.NumField() {
			lists = fill(t, v.Field(i), text) || lists
		}
	case kind == reflect.String:
		v.SetString(text.Draw(t, "text"))
	case kind == reflect.Int, kind == reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Just(int64(0))).Draw(t, "number"))
	default:
		return true
	}
	return lists
}

// TestParseOrdinary: the events of which nearly all histories consist are not left to
// encoding/json.
func TestParseOrdinary(t *testing.T) {
	t.Parallel()
	for _, v := range []domain.EventData{&domain.JobMoved{}, &domain.JobEstimated{}, &domain.JobDownloaded{}, &domain.JobProcessed{},
		&domain.JobDone{}, &domain.JobDone{Deposit: &domain.JobDeposit{LocalID: []string{"a", "b"}}, Object: &domain.StoredObject{}}, &domain.JobFailure{}, &domain.JobDeletion{}, &domain.FileMoved{}, &domain.FileFound{}, &domain.FileStarted{}, &domain.FileFetched{},
		&domain.FileDone{}, &domain.FileDone{Output: &domain.FileOutput{Key: "k"}}, &domain.JobMoved{JobMove: domain.JobMove{Reason: &domain.Reason{Code: "c"}}}} {
		if data, err := marshal(v); err != nil || !parse(data, reflect.New(reflect.TypeOf(v).Elem()).Interface()) {
			t.Errorf("%T: %s was left to encoding/json (%v)", v, data, err)
		}
	}
}

// TestParseIsStrict: what is not as it was written is left to encoding/json.
func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	whole := `{"from":"a","to":"b","retry_count":1,"priority":-5,"space_needed":0}`
	if !parse([]byte(whole), &domain.JobMoved{}) {
		t.Fatal("the whole is not read")
	}
	for _, tail := range []string{"", " ", "}", "\x00"} {
		for end := range len(whole) + 1 {
			text := whole[:end] + tail
			got, want := &domain.JobMoved{}, &domain.JobMoved{}
			if parse([]byte(text), got) && (json.Unmarshal([]byte(text), want) != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("%s was read as %+v", text, got)
			}
		}
	}
	file := `{"from":"","to":"DISCOVERED","path":"p","size":1,"download_attempts":0,"processing_attempts":0,"file":{"source":"s","path":"p",`
	for _, text := range []string{file + `"modified":"2026-01-01T00:00:00Z"}}`, file + `"by_version":no,"modified":null}}`} {
		if parse([]byte(text), &domain.FileFound{}) {
			t.Errorf("%s was read", text)
		}
	}
	for _, text := range []string{`{"to":"b","from":"a","retry_count":1,"priority":5,"space_needed":0}`,
		`{"from":"a","to":"b","retry_count":01,"priority":5,"space_needed":0}`, `{"from":"a","to":"b","retry_count":1,"priority":-,"space_needed":0}`,
		`{"from":"\n","to":"b","retry_count":1,"priority":5,"space_needed":0}`, `{"from":"a","to":"b","retry_count":1,"priority":5,"space_needed":99999999999999999999}`} {
		if parse([]byte(text), &domain.JobMoved{}) {
			t.Errorf("%s was read", text)
		}
	}
}
