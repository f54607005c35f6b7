package kit

import (
	"fmt"
	"strconv"
)

// Text is an argument of the call as text: "" if it is absent, a number as it was spelt (orders are read so).
func (c *Call) Text(name string) string {
	switch v := c.Given.Args[name].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// Whole is an argument of the call as a whole number, however a model wrote it: 2500, 2500.0, "2500.00".
func (c *Call) Whole(name string) (int64, error) {
	text := c.Text(name)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if n := int64(f); err == nil && float64(n) == f {
		return n, nil
	}
	return 0, fmt.Errorf("%s is %q, expected a whole number", name, text)
}

// Texts is an argument of the call that may be one text or a list of them.
func (c *Call) Texts(name string) []string {
	list, ok := c.Given.Args[name].([]any)
	if !ok {
		if text := c.Text(name); text != "" {
			return []string{text}
		}
		return nil
	}
	all := make([]string, len(list))
	for i, each := range list {
		all[i] = fmt.Sprint(each)
	}
	return all
}

// Has reports whether the call gives an argument.
func (c *Call) Has(name string) bool { return c.Given.Args[name] != nil }
