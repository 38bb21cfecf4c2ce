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
