{{- define "reconciler.labels" -}}
app.kubernetes.io/name: nodegroup-reconciler
app.kubernetes.io/part-of: nodegroup-reconciler
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* What is bound cluster-wide, or in each of the target namespaces: dict with name (of role and binding) and top. */}}
{{- define "reconciler.targetsBinding" -}}
{{- $name := .name -}}
{{- $top := .top -}}
{{- range (default (list "") $top.Values.targetNamespaces) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if . }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ $name }}
  {{- if . }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "reconciler.labels" $top | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name }}}
subjects:
  - {kind: ServiceAccount, name: reconciler, namespace: {{ $top.Release.Namespace }}}
{{ end }}
{{- end }}

{{/* Where pods may run and what pulls their image: for every Deployment of the chart. */}}
{{- define "reconciler.scheduling" -}}
{{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" }}
{{- with get $.Values $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* The Secret for git, where git is followed. */}}
{{- define "reconciler.gitSecret" -}}
{{- if eq .Values.policy.source "Git" }}{{ .Values.gitCredentials.secretName }}{{ end }}
{{- end }}

{{- define "reconciler.gitArguments" -}}
{{- if .Values.gitCredentials.secretName }}
{{- if eq .Values.gitCredentials.kind "SSH" }}
- --git-ssh-key=/etc/reconciler/git/identity
- --known-hosts=/etc/reconciler/git/known_hosts
{{- else }}
- --git-password-file=/etc/reconciler/git/password
{{- with .Values.gitCredentials.username }}
- --git-username={{ . }}
{{- end }}
{{- with .Values.gitCredentials.caKey }}
- --git-ca-file=/etc/reconciler/git/{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
