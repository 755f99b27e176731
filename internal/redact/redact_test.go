package redact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"GH_TOKEN": true, "apiKey": true, "Authorization": true, "db_password": true,
		"AWS_SECRET_ACCESS_KEY": true, "GOOGLE_APPLICATION_CREDENTIALS": true,
		"PATH": false, "HOME": false, "": false, "LANG": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestSecrets(t *testing.T) {
	got := Secrets([]string{"PATH=/bin/long", "A_KEY=value1", "B_KEY=value1", "C_TOKEN=abc", "D_TOKEN=true", "E_SECRET=x=y=z", "F_KEY", "G_PASSWORD="})
	if strings.Join(got, " ") != "value1 x=y=z" {
		t.Errorf("got %q", got)
	}
}

func TestByValue(t *testing.T) {
	secrets := []string{"hunter2!", `quo"te\d`, "abcdef", "defghi", "no", "a b/c&d"}
	tests := map[string]string{
		"":                            "",
		"nothing here, no secret":     "nothing here, no secret",
		"hunter2!":                    Mark,
		"a hunter2! and hunter2!.":    "a " + Mark + " and " + Mark + ".",
		`{"k":"quo\"te\\d"}`:          `{"k":"` + Mark + `"}`,
		`raw quo"te\d`:                "raw " + Mark,
		"overlap abcdefghi!":          "overlap " + Mark + "!",
		"twice abcdefabcdef":          "twice " + Mark,
		"http://x/?q=a+b%2Fc%26d&r=1": "http://x/?q=" + Mark + "&r=1",
		"http://x/a%20b%2Fc&d":        "http://x/" + Mark,
		"halves: hunter abcde":        "halves: hunter abcde",
	}
	for text, want := range tests {
		if got := Redact(text, secrets); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestByShape(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc+/=\n-----END RSA PRIVATE KEY-----"
	hidden := map[string]string{
		"sk-proj-abcdefghijklmnop1234":                                Mark,
		"key sk-ant-api03-AbCd_efGh-1234567.":                         "key " + Mark + ".",
		"Authorization: Bearer abc.def-123":                           "Authorization: " + "Bearer " + Mark,
		`"authorization":"Bearer abcdef123"`:                          `"authorization":"Bearer ` + Mark + `"`,
		"authorization: Basic dXNlcjpwYXNz":                           "authorization: Basic " + Mark,
		"ghp_0123456789abcdefABCDEF0123456789abcd":                    Mark,
		"github_pat_11ABCDEFG0123456789_abcdef":                       Mark,
		"AIzaSyA0123456789abcdefghijklmnopqrstu":                      Mark,
		"id AKIAIOSFODNN7EXAMPLE used":                                "id " + Mark + " used",
		"xoxb-123456789012-abcdefghij":                                Mark,
		"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_x!":            "jwt " + Mark + "!",
		"before " + key + " after.":                                   "before " + Mark + " after.",
		`{"pem":"` + strings.ReplaceAll(key, "\n", `\n`) + `","x":1}`: `{"pem":"` + Mark + `","x":1}`,
		"cut -----BEGIN PRIVATE KEY-----\nMIIE":                       "cut " + Mark,
		"OPENAI_API_KEY=abcdef123456 next":                            "OPENAI_API_KEY=" + Mark + " next",
		`export GH_TOKEN="abcdef123"`:                                 `export GH_TOKEN="` + Mark + `"`,
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG":                 "AWS_SECRET_ACCESS_KEY=" + Mark,
	}
	for text, want := range hidden {
		if got := Redact(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"task-management-for-everybody-here", "a risk-averse-programmer-of-old", "sk-short",
		`{"inputTokens":12345,"token_count":99}`, "MAX_TOKENS is 4096", "the bearer of news",
		"eyJust a word", "AKIA is short", "KEY=", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
	} {
		if got := Redact(text, nil); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A small alphabet makes secrets meet, overlap and repeat.
func TestNoSecretIsLeft(t *testing.T) {
	secret := rapid.StringMatching(`[ab"\\/é ]{1,9}`)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(secret, 0, 4).Draw(t, "secrets")
		text := rapid.StringMatching(`[ab"\\/é ]{0,60}`).Draw(t, "text")
		for _, s := range secrets {
			if i := rapid.IntRange(0, len(text)).Draw(t, "at"); utf8.ValidString(text[:i]) {
				text = text[:i] + s + text[i:]
			}
		}
		r := New(secrets)
		got := r.String(text)
		for _, s := range secrets {
			if len(s) >= MinValueLen && strings.Contains(got, s) {
				t.Fatalf("%q is in %q", s, got)
			}
		}
		if again := r.String(got); again != got {
			t.Fatalf("%q became %q", got, again)
		}
		if len(secrets) == 0 && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q isn't UTF-8", got)
		}
	})
}

// Wherever a text is cut, no piece of a secret of MinValueLen and more shows.
func TestExcerpt(t *testing.T) {
	const secret = "0123456789ABCDEF"
	r := New([]string{secret})
	text := strings.Repeat("x-"+secret+"-y ", 3)
	for start := range text {
		for end := start; end <= len(text); end++ {
			got := r.Excerpt(text[start:end])
			for i := 0; i+MinValueLen <= len(secret); i++ {
				if piece := secret[i : i+MinValueLen]; strings.Contains(got, piece) && end-start > len(secret) {
					t.Fatalf("%q shows %q: %q", text[start:end], piece, got)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"plain": "plain", "": "",
		"9ABCDEF and 01234": Mark + " and " + Mark,
		"456789ABCDEF":      Mark,
		"DEF and 012":       "DEF and 012",
	} {
		if got := r.Excerpt(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("Authorization: Bearer abcdefgh sk-abcdefghijklmnop", "hunter2!")
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIE", "eyJabcdefgh.eyJabcd.x")
	f.Add("OPENAI_API_KEY=\"abcdef\"", "[RED")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := Redact(text, []string{secret})
		if utf8.ValidString(text) && utf8.ValidString(secret) && !utf8.ValidString(got) {
			t.Errorf("%q became %q, not UTF-8", text, got)
		}
		if usable(secret) && !strings.ContainsAny(secret, "[]") && strings.Contains(strings.ReplaceAll(got, Mark, "\x00"), secret) && !strings.Contains(secret, "\x00") {
			t.Errorf("%q is left in %q", secret, got)
		}
	})
}
