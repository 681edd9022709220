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
	case "yes or no":
		yes, err := parseBool(raw)
		target.SetBool(yes)
		return err
	case "whole number":
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", raw)
		}
		target.SetInt(n)
		return bounds(f, float64(n), raw)
	case "number":
		n, err := strconv.ParseFloat(raw, 64)
		if err != nil || n != n {
			return fmt.Errorf("%q is not a number", raw)
		}
		target.SetFloat(n)
		return bounds(f, n, raw)
	default:
		target.SetString(raw)
		return allowed(f, raw)
	}
}

func assignDuration(target reflect.Value, f Field, raw string) error {
	d, err := time.ParseDuration(raw)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write it as 90s, 15m or 4h", raw)
	}
	target.SetInt(int64(d))
	if low, err := time.ParseDuration(f.Min); err == nil && d < low {
		return fmt.Errorf("%s is too small; the least is %s", raw, f.Min)
	}
	if high, err := time.ParseDuration(f.Max); err == nil && d > high {
		return fmt.Errorf("%s is too large; the most is %s", raw, f.Max)
	}
	return nil
}

func bounds(f Field, n float64, raw string) error {
	unit := ""
	if f.Unit != "" {
		unit = " " + f.Unit
	}
	if low, err := strconv.ParseFloat(f.Min, 64); err == nil && n < low {
		return fmt.Errorf("%s%s is too small; the least is %s%s", raw, unit, f.Min, unit)
	}
	if high, err := strconv.ParseFloat(f.Max, 64); err == nil && n > high {
		return fmt.Errorf("%s%s is too large; the most is %s%s", raw, unit, f.Max, unit)
	}
	return nil
}

func allowed(f Field, raw string) error {
	if len(f.OneOf) > 0 && !slices.Contains(f.OneOf, raw) {
		return fmt.Errorf("%q is not one of %s", raw, strings.Join(f.OneOf, ", "))
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
	return false, errors.New("write true or false")
}

// times turns a bare number of units into a duration; anything else is left for the
// parser to complain about.
func times(raw string, unit time.Duration) string {
	n, err := strconv.ParseFloat(strings.TrimSpace(raw), 64)
	if err != nil {
		return raw
	}
	return time.Duration(n * float64(unit)).String()
}

// show writes a value as it would be written in a file.
func show(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case time.Duration:
		return short(value)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case string:
		return withoutPassword(value)
	default:
		return fmt.Sprint(value)
	}
}

// withoutPassword masks what somebody wrote into an address that is no secret otherwise.
func withoutPassword(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return u.Redacted()
	}
	return text
}

// short drops the zero units that time.Duration prints.
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
