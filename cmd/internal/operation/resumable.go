package operation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/text"
)

// resumable is what a depositor says of a file that comes in pieces: as the parameters of
// upload.create do.
type resumable struct {
	About
	Name string `json:"name" required:"true" maxLength:"255" doc:"Name of the file"`
}

// BeginResumable begins an upload of the caller whose file comes in pieces. metadata is the
// value of Upload-Metadata, whose keys are the parameters of upload.create; digest that of
// Repr-Digest, key that of Idempotency-Key, size the bytes of the whole file. again says that
// the upload under the key was there.
func BeginResumable(ctx context.Context, c *Call, metadata, digest, key string, size int64) (u drops.Resumable, again bool, on string, limit access.Limit, err error) {
	if err := text.Check(key); err != nil || len(key) > maxKey {
		return u, false, "", limit, invalid("Idempotency-Key: it must be a text of at most %d bytes", maxKey)
	}
	fields, err := uploadMetadata(metadata)
	if err != nil {
		return u, false, "", limit, err
	}
	in, err := described(fields)
	if err != nil {
		return u, false, "", limit, err
	}
	collection, err := in.collection(c)
	if err != nil {
		return u, false, "", limit, err
	}
	on = "collection/" + collection
	d, err := in.Allowed(c)
	if err != nil {
		return u, false, on, limit, err
	}
	u = drops.Resumable{Owner: c.Caller.Name, Size: size, Metadata: fields}
	if u.SHA256, err = sending.ReprDigest(digest); err != nil {
		return u, false, on, limit, err
	}
	d.Payload, d.Key = in.Name, key
	r := &drops.Receiver{App: c.App, Most: c.App.Open.UploadLimit, Waiting: c.App.Open.WaitingLimit}
	if err := r.Check(d); err != nil {
		return u, false, on, limit, err
	}
	u, again, err = r.Begin(ctx, d, u)
	return u, again, on, r.Limit(), err
}

// maxKey is the most bytes of an Idempotency-Key, as of [Once].
const maxKey = 200

// ofClients are the keys by which clients of tus describe a file from their users' disks, and
// which say nothing of the deposit: of Uppy, tus-js-client and others.
var ofClients = map[string]bool{"relativePath": true, "filetype": true, "contentType": true, "size": true, "lastModified": true}

// MayResume returns an error unless the caller may still make the deposit of an upload.
func MayResume(c *Call, u drops.Resumable) error {
	a := About{Profile: u.Deposit.Profile, Submitter: u.Deposit.Submitter}
	_, err := a.Allowed(c)
	return err
}

// uploadMetadata reads the header of tus: keys, each with a value in base64.
func uploadMetadata(header string) (map[string]string, error) {
	fields := map[string]string{}
	if strings.TrimSpace(header) == "" {
		return fields, nil
	}
	for pair := range strings.SplitSeq(header, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(pair), " ")
		plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		if _, twice := fields[key]; key == "" || twice || err != nil {
			return nil, invalid("Upload-Metadata: %q is no key with a value in base64, or is there twice", strings.TrimSpace(pair))
		}
		fields[key] = string(plain)
	}
	return fields, nil
}

// described reads the fields of an upload, and checks them as parameters are checked.
func described(fields map[string]string) (in resumable, err error) {
	if err := checkTexts(fields); err != nil {
		return in, err
	}
	values := map[string]any{}
	for key, value := range fields {
		if ofClients[key] || key == "type" && strings.Contains(value, "/") { // a media type, as browsers know it
			continue
		}
		switch key {
		case "local_ids":
			var ids []any
			for id := range strings.SplitSeq(value, ",") {
				ids = append(ids, id)
			}
			values[key] = ids
		case "filename": // so most clients write it
			if name, both := fields["name"]; both && name != value {
				return in, invalid("Upload-Metadata: name and filename differ; leave one of them out")
			}
			values["name"] = value
		default:
			values[key] = value
		}
	}
	if faults := huma.NewModelValidator().Validate(reflect.TypeFor[resumable](), values); len(faults) > 0 {
		if d, ok := errors.AsType[*huma.ErrorDetail](faults[0]); ok { // without the value, which is all that was sent
			return in, invalid("Upload-Metadata: %s", strings.TrimPrefix(d.Location+": "+d.Message, ": "))
		}
		return in, invalid("Upload-Metadata: %w", faults[0])
	}
	data, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	return in, err
}
