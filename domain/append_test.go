package domain_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

// What is written by hand is what encoding/json writes, and texts that need an
// escape are left to it.
func TestAppendJSON(t *testing.T) {
	t.Parallel()
	known := []domain.EventData{&domain.JobMoved{}, &domain.JobEstimated{}, &domain.JobDownloaded{}, &domain.JobProcessed{}, &domain.JobDone{}, &domain.JobDeletion{},
		&domain.FileMoved{}, &domain.FileFound{}, &domain.FileStarted{}, &domain.FileFetched{}, &domain.FileDone{}}
	plain := rapid.StringMatching(`[ -~]*`).Filter(domain.Plain)
	rapid.Check(t, func(t *rapid.T) {
		d := reflect.New(reflect.TypeOf(rapid.SampledFrom(known).Draw(t, "type")).Elem())
		easy := rapid.Bool().Draw(t, "easy")
		fill(t, d.Elem(), func() string {
			if easy {
				return plain.Draw(t, "text")
			}
			return rapid.OneOf(plain, rapid.String(), rapid.SampledFrom([]string{"\x00", "\xff", "<", "\u2028", "\x7f"})).Draw(t, "text")
		})
		if !easy && rapid.Bool().Draw(t, "reason") {
			d.Elem().FieldByName("Reason").Set(reflect.ValueOf(&domain.Reason{Message: "why"}))
		}
		v := d.Interface().(domain.EventData)
		got, ok := domain.AppendJSON([]byte("before"), v)
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if easy && !ok {
			t.Errorf("%s was left to encoding/json", want)
		}
		if ok && string(got) != "before"+string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		back := reflect.New(d.Type().Elem()).Interface().(domain.EventData)
		if read := domain.ParseJSON(want, back); read != ok || read && !reflect.DeepEqual(back, v) {
			t.Errorf("%s was read (%v) as %+v, want %+v", want, read, back, v)
		}
	})
}

// fill gives all fields but reasons some value.
func fill(t *rapid.T, v reflect.Value, text func() string) {
	switch at := v.Addr().Interface().(type) {
	case *domain.Time:
		if rapid.Bool().Draw(t, "known") {
			*at = domain.At(time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(t, "time")))
		}
		return
	case **bool:
		if rapid.Bool().Draw(t, "said") {
			*at = new(bool)
			fill(t, v.Elem(), text)
		}
		return
	case **domain.FileOutput:
		if rapid.Bool().Draw(t, "output") {
			*at = &domain.FileOutput{}
			fill(t, v.Elem(), text)
		}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), text)
		}
	case reflect.String:
		v.SetString(text())
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Just(int64(0))).Draw(t, "number"))
	}
}

func TestFieldsTime(t *testing.T) {
	t.Parallel()
	for _, at := range []domain.Time{{}, domain.At(time.UnixMilli(1_700_000_000_120)), domain.At(time.UnixMilli(0))} {
		var f domain.Fields
		f.Time("", at)
		if want, err := json.Marshal(at); err != nil || string(f.JSON) != string(want) {
			t.Errorf("got %s, want %s (%v)", f.JSON, want, err)
		}
	}
}

// What is not as it was written is left to encoding/json, and where both read
// something they read the same.
func TestParseJSONIsStrict(t *testing.T) {
	t.Parallel()
	whole := `{"from":"a","to":"b","retry_count":1,"priority":-5,"space_needed":0}`
	if !domain.ParseJSON([]byte(whole), &domain.JobMoved{}) {
		t.Fatal("the whole is not read")
	}
	for _, tail := range []string{"", " ", "}", "\x00"} {
		for end := range len(whole) + 1 {
			text := whole[:end] + tail
			got, want := &domain.JobMoved{}, &domain.JobMoved{}
			if domain.ParseJSON([]byte(text), got) && (json.Unmarshal([]byte(text), want) != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("%s was read as %+v", text, got)
			}
		}
	}
	for _, text := range []string{`{"from":"","to":"DISCOVERED","path":"p","size":1,"download_attempts":0,"processing_attempts":0,"file":{"source":"s","path":"p","modified":"2026-01-01T00:00:00Z"}}`,
		`{"from":"","to":"DISCOVERED","path":"p","size":1,"download_attempts":0,"processing_attempts":0,"file":{"source":"s","path":"p","by_version":false,"modified":null}}`} {
		if domain.ParseJSON([]byte(text), &domain.FileFound{}) {
			t.Errorf("%s was read", text)
		}
	}
	for _, text := range []string{`{"to":"b","from":"a","retry_count":1,"priority":5,"space_needed":0}`,
		`{"from":"a","to":"b","retry_count":01,"priority":5,"space_needed":0}`, `{"from":"a","to":"b","retry_count":1,"priority":-,"space_needed":0}`,
		`{"from":"\n","to":"b","retry_count":1,"priority":5,"space_needed":0}`, `{"from":"a","to":"b","retry_count":1,"priority":5,"space_needed":99999999999999999999}`} {
		if domain.ParseJSON([]byte(text), &domain.JobMoved{}) {
			t.Errorf("%s was read", text)
		}
	}
}
