package setting_test

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/setting"
)

func TestNamesOfProfiles(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"maps": true, "0-maps_b": true, strings.Repeat("a", 64): true,
		"": false, "-maps": false, "_maps": false, "Maps": false, "a/b": false, "a:b": false, "ä": false, "a\n": false, "..": false, strings.Repeat("a", 65): false,
	} {
		if err := setting.CheckName("profile", name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestVersionsOfProfiles(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct {
		p    *setting.Profile
		good bool
	}{
		{nil, true}, {&setting.Profile{Version: sum[:12], SHA256: sum}, true},
		{&setting.Profile{}, false}, {&setting.Profile{Version: sum[:12]}, false}, {&setting.Profile{SHA256: sum}, false},
		{&setting.Profile{Version: sum[1:13], SHA256: sum}, false}, {&setting.Profile{Version: sum[:11], SHA256: sum}, false},
		{&setting.Profile{Version: sum[:12], SHA256: strings.ToUpper(sum)}, false}, {&setting.Profile{Version: sum[:12], SHA256: sum + "0"}, false},
	} {
		if err := c.p.Check(); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
}
