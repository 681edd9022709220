package config

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// assign parses raw into target and checks it against the bounds of f.
func assign(target reflect.Value, f Field, raw string) error {
	raw = strings.TrimSpace(raw)
	if raw == "" {
		return nil
	}
	switch f.Type {
	case "duration":
		return assignDuration(target, f, raw)
	case "boolean":
		yes, err := parseBool(raw)
		target.SetBool(yes)
		return err
	case "integer":
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not an integer", raw)
		}
		target.SetInt(n)
		return bounds(f, float64(n), raw, number)
	case "number":
		n, err := number(raw)
		if err != nil || n != n {
			return fmt.Errorf("%q is not a number", raw)
		}
		target.SetFloat(n)
		return bounds(f, n, raw, number)
	default:
		target.SetString(raw)
		return allowed(f, raw)
	}
}

func assignDuration(target reflect.Value, f Field, raw string) error {
	d, err := time.ParseDuration(raw)
	if err != nil {
		return fmt.Errorf("%q is not a duration, for example 90s, 15m or 4h", raw)
	}
	target.SetInt(int64(d))
	return bounds(f, float64(d), raw, func(text string) (float64, error) {
		bound, err := time.ParseDuration(text)
		return float64(bound), err
	})
}

// bounds returns an error if n is outside the bounds of f. raw is n as written; read parses a bound.
func bounds(f Field, n float64, raw string, read func(string) (float64, error)) error {
	low, noLow := read(f.Min)
	high, noHigh := read(f.Max)
	if noLow == nil && n < low || noHigh == nil && n > high {
		return fmt.Errorf("%s is out of range: must be %s", raw, strings.TrimSpace(f.Min+" to "+f.Max+" "+f.Unit))
	}
	return nil
}

func number(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func allowed(f Field, raw string) error {
	if len(f.OneOf) > 0 && !slices.Contains(f.OneOf, raw) {
		return fmt.Errorf("%q is not valid: must be one of %s", raw, strings.Join(f.OneOf, ", "))
	}
	return nil
}

func parseBool(raw string) (bool, error) {
	switch strings.ToLower(raw) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// times converts a number without a unit into a duration. It leaves any other text to the parser, which reports the fault.
func times(raw string, unit time.Duration) string {
	n, err := strconv.ParseFloat(strings.TrimSpace(raw), 64)
	if err != nil {
		return raw
	}
	return time.Duration(n * float64(unit)).String()
}

// show returns a value in the form of a configuration file.
func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return short(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case string:
		if u, err := url.Parse(value); err == nil && u.User != nil { // mask the password in an address
			return u.Redacted()
		}
		return value
	default:
		return fmt.Sprint(value)
	}
}

// short formats a duration without zero units.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
