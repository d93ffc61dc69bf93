package consistency

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestSameJSON: what differs is never the same; order, spaces and escapes do not differ.
func TestSameJSON(t *testing.T) {
	t.Parallel()
	const text = `{"a":1,"b":{"c":"x\u003cy","d":[1,2,"z"]},"e":null,"f":""}`
	for other, same := range map[string]bool{
		text: true,
		`{ "f": "", "e": null, "b": {"d": [1, 2, "z"], "c": "x<y"}, "a": 1 }`:  true,
		`{"a":2,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""}`:                false,
		`{"a":"1","b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""}`:              false,
		`{"a":1,"b":{"c":"x<y","d":[2,1,"z"]},"e":null,"f":""}`:                false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":"","g":0}`:          false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"F":""}`:                false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""`:                 false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""}}`:               false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""} {}`:             false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"},"e":null,"f":""}`:                 false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":"` + "unterminated": false,
		`[{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""}]`:              false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":{},"f":""}`:                  false,
		`{"a":1,"b":{"c":"x<y","d":[[1,2],"z"]},"e":null,"f":""}`:              false,
		`{"b":1,"a":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":""}`:                false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":"","f":""}`:         false,
		`{"a":1,"b":{"c":"x<y","d":[1,2,"z"]},"e":null,"f":"",}`:               false,
		"": false, "{": false, "[": false, `"`: false, "[1": false, `{"a"`: false, `{"a":`: false,
	} {
		if got := sameJSON([]byte(text), []byte(other)); got != same {
			t.Errorf("%s: same %t, want %t", other, got, same)
		}
	}
}

// TestSameJSONAtRandom: an encoded text is the same as itself written another way, and
// as no other.
func TestSameJSONAtRandom(t *testing.T) {
	t.Parallel()
	value := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny())))
	rapid.Check(t, func(t *rapid.T) {
		x, y := value.Draw(t, "x"), value.Draw(t, "y")
		a, _ := json.Marshal(x)
		b, _ := json.MarshalIndent(x, " ", "  ")
		c, _ := json.Marshal(y)
		if !sameJSON(a, b) {
			t.Errorf("%s and %s", a, b)
		}
		if string(a) != string(c) && sameJSON(a, c) {
			t.Errorf("%s is %s", a, c)
		}
	})
}
