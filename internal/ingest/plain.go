package ingest

import "github.com/go-json-experiment/json/jsontext"

// plainLen returns how long JSON is without needless escapes, as the store keeps it: a sender that writes \u6f22 has written one
// character, as one that writes it as it is.
func plainLen(raw []byte) int {
	plain, _ := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // raw, if that is no JSON
	return len(plain)
}
