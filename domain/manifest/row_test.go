package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRowFaults reads rows that begin on line 3; want lists what is at fault.
func TestRowFaults(t *testing.T) {
	t.Parallel()
	u := "http://h.test/f | "
	tests := map[string]struct {
		rows []string
		want []string
	}{
		"sound":                   {[]string{"http://h.test/f | sha256 | " + hash + " | 4 | now | a/b.txt | text/plain"}, nil},
		"empty surplus cells":     {[]string{u + "| | | | | | | |"}, nil},
		"too many cells":          {[]string{u + "| | | | x | text/plain | y"}, []string{"3 row_too_many_cells"}},
		"control character":       {[]string{u + "| | | | x | text/\x1b[2J"}, []string{"3 row_control_character"}},
		"control in a URL":        {[]string{"http://h.test/\x01 | | | | | x"}, []string{"3 row_control_character"}},
		"line separator":          {[]string{u + "| | | a\u2028b"}, []string{"3 row_control_character"}},
		"hidden in a URL":         {[]string{"http://h.test/\u202ea | | | | | x"}, []string{"3 row_bad_url"}},
		"hidden in a name":        {[]string{u + "| | | | a\u202eb", u + "| | | | a\u200bb", u + "| | | | a\u2066b"}, []string{"3 row_bad_name", "4 row_bad_name", "5 row_bad_name"}},
		"no URL":                  {[]string{"| | | | | x"}, []string{"3 row_bad_url"}},
		"relative URL":            {[]string{"f.txt"}, []string{"3 row_bad_url"}},
		"no host":                 {[]string{"http:///f", "http:f", "http://:80/f"}, []string{"3 row_bad_url", "4 row_bad_url", "5 row_bad_url"}},
		"other schemes":           {[]string{"scp://h/f", "ftp://h/f", "javascript:f"}, []string{"3 row_bad_url", "4 row_bad_url", "5 row_bad_url"}},
		"files of the machine":    {[]string{"file:///srv/a", "file://host/srv/a", "file:///", "file:///srv/a?b", "file:srv/a", "file://me@/srv/a"}, []string{"4 row_bad_url", "5 row_bad_url", "6 row_bad_url", "7 row_bad_url", "8 row_bad_url"}},
		"files of SFTP servers":   {[]string{"sftp://h/f", "sftp://h:2222/d/g", "sftp://h", "sftp:///f", "sftp://h/f?x", "sftp://me@h/f", "sftp://h:0/f"}, []string{"5 row_bad_url", "6 row_bad_url", "7 row_bad_url", "8 row_bad_url", "9 row_bad_url"}},
		"objects in buckets":      {[]string{"s3://sky/night/a", "s3://sky", "s3:///a", "s3://sky/a?versionId=1", "s3://me@sky/a"}, []string{"4 row_bad_url", "5 row_bad_url", "6 row_bad_url", "7 row_bad_url"}},
		"user name":               {[]string{"http://me@h/f", "https://me:pw@h/g"}, []string{"3 row_bad_url", "4 row_bad_url"}},
		"space or backslash":      {[]string{"http://h/a b", `http://h\@x/a`}, []string{"3 row_bad_url", "4 row_bad_url"}},
		"fragment":                {[]string{"http://h/a#b"}, []string{"3 row_bad_url"}},
		"bad escape":              {[]string{"http://h/100%"}, []string{"3 row_bad_url"}},
		"bad port":                {[]string{"http://h:0/a", "http://h:65536/b", "http://h:x/c", "http://h:65535/d"}, []string{"3 row_bad_url", "4 row_bad_url", "5 row_bad_url"}},
		"store URL":               {[]string{"store:///uploads/1"}, []string{"3 row_bad_url"}},
		"name leaves the object":  {[]string{u + "| | | | a/../../b", u + "| | | | ..", u + "| | | | /etc/x"}, []string{"3 row_bad_name", "4 row_bad_name", "5 row_bad_name"}},
		"name escaped in URL":     {[]string{"http://h/a%2f..%2fb", "http://h/%2e%2e", "http://h/a%00b", "http://h/%ff"}, []string{"3 row_bad_name", "4 row_bad_name", "5 row_bad_name", "6 row_bad_name"}},
		"no name in URL":          {[]string{"http://h", "http://h/", "http://h/a/?q=b"}, []string{"3 row_bad_name", "4 row_bad_name", "5 row_bad_name"}},
		"same name":               {[]string{u + "| | | | a", u + "| | | | b", u + "| | | | a", u + "| | | | a"}, []string{"5 row_duplicate_name", "6 row_duplicate_name"}},
		"same name, other form":   {[]string{u + "| | | | \u00e9", u + "| | | | e\u0301"}, []string{"4 row_duplicate_name"}},
		"same name by URL":        {[]string{"http://h/x/a%20b", u + "| | | | a b"}, []string{"4 row_duplicate_name"}},
		"names differ in case":    {[]string{u + "| | | | a", u + "| | | | A"}, nil},
		"file and folder":         {[]string{u + "| | | | a/b/c", u + "| | | | a/b", u + "| | | | a/b!", u + "| | | | a-b"}, []string{"3 row_name_conflict"}},
		"bad size":                {[]string{u + "| | 4k | | a", u + "| | -1 | | b", u + "| | 9223372036854775808 | | c", u + "| | +1 | | d", u + "| | 1.0 | | e"}, []string{"3 row_bad_size", "4 row_bad_size", "5 row_bad_size", "6 row_bad_size", "7 row_bad_size"}},
		"unknown algorithm":       {[]string{u + "sha3 | " + hash}, []string{"3 row_unknown_algorithm"}},
		"digest too short":        {[]string{u + "sha256 | " + hash[1:]}, []string{"3 row_digest_length"}},
		"digest not hex":          {[]string{u + "sha256 | " + hash[1:] + "g", "http://h/2 | md5 | 0x123"}, []string{"3 row_digest_not_hex", "4 row_digest_not_hex"}},
		"digest without its half": {[]string{"http://h/1 | sha3 | ", "http://h/2 | | zz"}, nil},
		"first fault counts":      {[]string{"ftp://h | sha3 | x | y | | /"}, []string{"3 row_bad_url"}},
		"all are found":           {[]string{"ftp://h/a", "http://h/b", "", "# c", u + "| | x"}, []string{"3 row_bad_url", "7 row_bad_size"}},
	}
	seen := map[string]bool{}
	for name, tt := range tests {
		for _, w := range tt.want {
			seen[strings.Fields(w)[1]] = true
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := Parse([]byte(head+strings.Join(tt.rows, "\n")+"\n"+eof), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range m.Rows {
				if r.Fault == nil {
					continue
				}
				got = append(got, fmt.Sprintf("%d %s", r.Fault.Line, r.Fault.Code))
				if strings.Contains(r.Fault.Message, "pw") || strings.ContainsAny(r.Fault.Message, "\x1b\n\x00") || len(r.Fault.Message) > 400 {
					t.Errorf("the message is not fit to show: %q", r.Fault.Message)
				}
				if r.Fault.Line != r.Line {
					t.Errorf("row %d has a fault of line %d", r.Line, r.Fault.Line)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	for _, code := range []string{RowTooManyCells, RowControlCharacter, RowBadURL, RowBadName, RowDuplicateName,
		RowNameConflict, RowBadSize, RowUnknownAlgorithm, RowDigestLength, RowDigestNotHex} {
		if !seen[code] {
			t.Errorf("no case gives %s", code)
		}
	}
}

// A fileLastModified counts as a time in the forms of RFC 3339, else it is unknown.
func TestRowModified(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"":                              "",
		"2020 x":                        "",
		"2020-02-30":                    "",
		"2020-02-03":                    "2020-02-03T00:00:00Z",
		"2020-02-03 04:05:06":           "2020-02-03T04:05:06Z",
		"2020-02-03T04:05:06":           "2020-02-03T04:05:06Z",
		"2020-02-03T04:05:06.789+01:30": "2020-02-03T02:35:06.789Z",
		"0000-01-01T00:00:00+09:00":     "",
		"9999-12-31T23:59:59-09:00":     "",
	} {
		got := ""
		if at := (Row{FileLastModified: cell}).Modified(); !at.IsZero() {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("fileLastModified %q is the time %q, want %q", cell, got, want)
		}
	}
}

func TestRowValues(t *testing.T) {
	t.Parallel()
	const url = "http://h.test/dir/a%20b%7Cc.txt?x=%20"
	tests := map[string]struct {
		line string
		want Row
	}{
		"all columns, all escapes": {
			url + " | SHA-256 | " + strings.ToUpper(hash) + " | 007 | 2020%20x | d/%7C%7c.txt | ark:/1/2 | a%20b ; ;c;%20 | M%7Cn | T%2520 | 1%7c",
			Row{FileURL: url, HashAlgorithm: SHA256, HashValue: hash, Size: 7, FileLastModified: "2020 x", FileName: "d/||.txt",
				PrimaryIdentifier: "ark:/1/2", LocalIdentifiers: []string{"a b", "c"}, Creator: "M|n", Title: "T%2520", Date: "1|"},
		},
		"repeated local ids": {
			"http://h.test/f | | | | | x | | b; a ;b;c;a",
			Row{FileURL: "http://h.test/f", Size: -1, FileName: "x", LocalIdentifiers: []string{"b", "a", "c"}},
		},
		"hidden in identifiers": {
			"http://h.test/f | | | | | x | ark:/1\u200b/2 | a\u202eb",
			Row{FileURL: "http://h.test/f", Size: -1, FileName: "x", Fault: &Error{Code: RowBadIdentifier}},
		},
		"name from the URL": {url, Row{FileURL: url, Size: -1, FileName: "a b|c.txt"}},
		"pipes without blanks": {
			"http://h.test/f|||5||x|||\t me\t|y",
			Row{FileURL: "http://h.test/f", Size: 5, FileName: "x", Creator: "me", Title: "y"},
		},
		"identifiers of a faulty row": {
			"nowhere | sha256 | zz | 5 | | x | ark:/1/2 | id | me",
			Row{Size: 5, FileName: "x", PrimaryIdentifier: "ark:/1/2", LocalIdentifiers: []string{"id"}, Creator: "me",
				Fault: &Error{Code: RowBadURL}},
		},
		"a bad name is not replaced": {
			"http://h.test/f | | | | | ../x",
			Row{FileURL: "http://h.test/f", Size: -1, Fault: &Error{Code: RowBadName}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseRow(tt.line, 9, MrtBatch.Fields(), false, func(*Error) {})
			if !got.equal(&tt.want) || got.Line != 9 {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestBatchRowsMayShareNames(t *testing.T) {
	t.Parallel()
	for _, p := range []Profile{MrtBatch, MrtContainerBatch, MrtSingleFileBatch} {
		in := "#%profile | " + p.URL() + "\nhttp://h/1/m\nhttp://h/2/m\n#%eof"
		m, err := Parse([]byte(in), Limits{})
		if err != nil || m.Rows[0].Fault != nil || m.Rows[1].Fault != nil {
			t.Errorf("%s: %v, %+v", p, err, m)
		}
	}
}

func TestStoreURLsOnRequest(t *testing.T) {
	t.Parallel()
	rows := "store:///uploads/1\nstore://host/2\nstore:///\nstore:///3?x\nstore:uploads\n"
	m, err := Parse([]byte(head+rows+eof), Limits{StoreURLs: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range m.Rows {
		if (r.Fault == nil) != (i == 0) {
			t.Errorf("row %d: fault %v", i, r.Fault)
		}
	}
}

func TestFieldsLineDecides(t *testing.T) {
	t.Parallel()
	in := "#%profile | mrt-batch-manifest\n#%fields | nfo:fileURL | mrt:title | LocalIdentifier | mrt:mimeType |\nhttp://h/1 | T | a;b | x/y\n#%eof"
	m, err := Parse([]byte(in), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := Row{FileURL: "http://h/1", FileName: "1", Size: -1, Title: "T", LocalIdentifiers: []string{"a", "b"}, MimeType: "x/y"}
	if !m.Rows[0].equal(&want) || m.Version != "" || m.Prefixes != nil {
		t.Errorf("got %+v", m)
	}
}
