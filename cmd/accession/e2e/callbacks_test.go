package e2e

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/domain"
)

// TestCallbacksAreSigned: the example of docs/callbacks.md takes a callback by the old and by
// the new secret, and none by another secret, of another content or of long ago; its form is that
// which the profile says. At that moment the object and its files are in the inventory.
// Shows: P6
func TestCallbacksAreSigned(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/callbacks.md")
	if err != nil {
		t.Fatal(err)
	}
	example := between(t, string(page), "```python\n", "```")
	const old, fresh = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
	for form, mediaType := range map[string]string{"json": "application/json", "xml": "application/xml; charset=utf-8", "html": "text/html; charset=utf-8"} {
		in := newPatient(t, "callback_secrets=# of receivers\ntest: "+fresh+" "+old+"\nanother: "+old)
		type sent struct {
			header http.Header
			body   []byte
		}
		got := make(chan sent, 1)
		base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost {
				_, _ = io.WriteString(w, "a\n")
				return
			}
			body, err := io.ReadAll(r.Body)
			in.should(err)
			const inventory = "select count(*) from record.object join record.object_version using (primary_identifier) join record.object_file using (primary_identifier, version)"
			files := 0
			if in.should(in.db.QueryRow(r.Context(), inventory).Scan(&files)); files != 3 {
				t.Errorf("the receiver is told of an object of which %d files are in the inventory", files)
			}
			got <- sent{r.Header, body}
		}))
		in.editProfile("fetch:", "response_type: "+form+"\ncallback: {url: "+base+"/done}\nfetch:")
		in.serveInProcess()
		id := in.submit(app.Deposit{Payload: base + "/a%3Cb.txt", Type: domain.TypeFile})
		if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
			t.Fatalf("the batch is %s", v.Status)
		}
		call := <-got
		var says delivery.Callback
		switch form {
		case "json":
			err = json.Unmarshal(call.body, &says)
		case "xml":
			err = xml.Unmarshal(call.body, &says)
		case "html":
			if !bytes.Contains(call.body, []byte("<dt>batch_id</dt><dd>"+string(id)+"</dd>")) || !bytes.Contains(call.body, []byte("<dt>name</dt><dd>a&lt;b.txt</dd>")) {
				t.Errorf("%s", call.body)
			}
			says = delivery.Callback{Batch: id, Version: 1, Files: 3, Name: "a<b.txt"}
		}
		if err != nil || call.header.Get("Content-Type") != mediaType || says.Batch != id || says.Version != 1 || says.Files != 3 || says.Name != "a<b.txt" {
			t.Errorf("%v: %s %s", err, call.header.Get("Content-Type"), call.body)
		}
		if call.header.Get("Webhook-Id") == "" || call.header.Get("Webhook-Id") != call.header.Get("Idempotency-Key") {
			t.Errorf("%v", call.header)
		}
		isOurs := func(secret, stamp string, body []byte) bool {
			headers := map[string]string{"Webhook-Id": call.header.Get("Webhook-Id"), "Webhook-Timestamp": stamp, "Webhook-Signature": call.header.Get("Webhook-Signature")}
			asked, err := json.Marshal(map[string]any{"headers": headers, "secret": secret, "body": string(body)})
			in.must(err)
			python := exec.CommandContext(in.ctx(), "python3", "-c", example+"\nimport json, sys\nasked = json.load(sys.stdin)\nprint(is_ours(asked['headers'], asked['body'].encode(), asked['secret']))\n")
			python.Stdin = bytes.NewReader(asked)
			out, err := python.Output()
			in.must(err)
			return strings.TrimSpace(string(out)) == "True"
		}
		stamp := call.header.Get("Webhook-Timestamp")
		for what, is := range map[string]bool{
			"the new secret":   isOurs(fresh, stamp, call.body),
			"the old secret":   isOurs(old, stamp, call.body),
			"another secret":   !isOurs("whsec_"+strings.Repeat("b", 32), stamp, call.body),
			"another content":  !isOurs(old, stamp, append(call.body, ' ')),
			"a time long past": !isOurs(old, "1614265330", call.body),
		} {
			if !is {
				t.Errorf("%s: %s is not told as it must be; sent at %s, now %d", form, what, stamp, time.Now().Unix())
			}
		}
	}
}
