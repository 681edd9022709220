package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// FuzzHugeNumber holds the quick look for numbers to a slow one that reads the JSON.
func FuzzHugeNumber(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1e308}`, `{"a":1e309}`, `{"a":-1E-309}`, `{"a":"1e999"}`, `{"1e999":[1]}`, `{"a":"\"1e999"}`, `{"a":"\\",  "b":1e+0999}`,
		`{"a":1e0000000000000000000000000308}`, `{"a":123.456e-12,"b":[0e99999999999999999999]}`, `{"e9":9e9}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text = bytes.TrimSpace(text)
		if !bytes.HasPrefix(text, []byte("{")) || !json.Valid(text) {
			t.Skip("the decoder lets nothing else pass")
		}
		require.Equal(t, hasHugeNumber(t, text), ingest.HasHugeNumber(text))
	})
}

func hasHugeNumber(t *testing.T, text []byte) bool {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return false // the end
		}
		number, isNumber := token.(json.Number)
		if _, exponent, found := strings.Cut(strings.ToLower(fmt.Sprint(number)), "e"); isNumber && found {
			n, good := new(big.Int).SetString(strings.TrimPrefix(exponent, "+"), 10)
			require.True(t, good)
			if n.CmpAbs(big.NewInt(308)) > 0 {
				return true
			}
		}
	}
}

// FuzzPlaces holds what readers name as their place to this: what is read is written the
// same, and what is written is read.
func FuzzPlaces(f *testing.F) {
	for _, text := range []string{"", "1:42", "0:0", "-1:2", "1:", "b:7", "a:b:8", "b:+7", "b:07", "b:9223372036854775807", "2147483648:1", "2:17,1:42", "1:2,3:0,2:9"} {
		f.Add("b", text)
	}
	f.Fuzz(func(t *testing.T, sandbox, text string) {
		if c, err := ingest.ParseCursor("cursor", text); err == nil {
			again, err := ingest.ParseCursor("cursor", c.String())
			require.NoError(t, err)
			require.Equal(t, c, again)
			require.GreaterOrEqual(t, c.Attempt, 0)
			require.GreaterOrEqual(t, c.Sequence, int64(0))
		}
		if n, good := ingest.ParseEventID(sandbox, text); good {
			require.GreaterOrEqual(t, n, int64(0))
			again, good := ingest.ParseEventID(sandbox, ingest.EventID(sandbox, n))
			require.True(t, good)
			require.Equal(t, n, again)
		}
	})
}
